/** Whether an http address leads to this machine. */
export function isLoopback(address: string): boolean {
  const url = URL.parse(address);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    /^(?:(?:[\w-]+\.)*localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname)
  );
}

/** Called with an address of this machine that no one has registered, when it is used for the first time. */
export type OnLoopback = (address: string) => void;

/** Whether an address is registered. With `onLoopback`, those of this machine register themselves. */
export function accepts(registered: string[], address: string, onLoopback?: OnLoopback): boolean {
  if (registered.includes(address)) return true;
  if (onLoopback === undefined || !isLoopback(address)) return false;
  registered.push(address);
  onLoopback(address);
  return true;
}
