/** Runs `work` under another `NODE_ENV`, or without one, and puts the old one back, whatever happens. */
export async function withNodeEnv(value: string | undefined, work: () => void | Promise<void>): Promise<void> {
  const former = process.env['NODE_ENV'];
  set(value);
  try {
    await work();
  } finally {
    set(former);
  }
}

function set(value: string | undefined): void {
  if (value === undefined) delete process.env['NODE_ENV'];
  else process.env['NODE_ENV'] = value;
}
