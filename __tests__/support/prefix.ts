/**
 * The tests speak of an application at the root. Where it lives below a prefix, this says the same of it there: what goes in gets the
 * prefix, what comes out loses it. What should have carried it and does not becomes `/prefix-lost…`, which no test expects.
 */
export interface PrefixMapping {
  /** Of a request target. */
  readonly target: (target: string) => string;
  /** Of every `returnTo` in a URL, a form or JSON that is sent. */
  readonly sent: (text: string) => string;
  /** Of a `Location`, and of the places that it hands on in its query. */
  readonly location: (location: string) => string;
  /** Of the links, forms and `redirectTo` in a body that is answered. */
  readonly answered: (text: string) => string;
}

const handedOn = /(?<=[?&](?:returnTo|redirect_to|redirect_uri|return_to)=)[^&#"]*/g;

export function createPrefixMapping(prefix: string): PrefixMapping {
  const isBelow = (path: string): boolean => path.startsWith(prefix) && /^(?:$|[/?#])/.test(path.slice(prefix.length));
  const isLocal = (place: string): boolean => /^\/(?![/\\.])/.test(place);

  /** Elsewhere stays elsewhere, and where nothing else is known, visitors go to the root of the origin. */
  function strip(url: string): string {
    const [, origin = '', path = ''] = /^(https?:\/\/[^/?#]*)?(.*)$/s.exec(url) ?? [];
    if (isBelow(path)) return origin + (path.slice(prefix.length) || '/');
    const isElsewhere = origin !== '' && !origin.includes('//127.0.0.1');
    return isElsewhere || !isLocal(path) || path === '/' ? url : `${origin}/prefix-lost${path}`;
  }
  const add = (place: string): string => (isLocal(place) && place !== '/' && !isBelow(place) ? prefix + place : place);
  const inQuery = (change: (place: string) => string) => (value: string) => {
    const plain = decodeURIComponent(value);
    const changed = change(plain);
    return changed === plain ? value : encodeURIComponent(changed);
  };
  // A place may hand on another one.
  const stripHandedOn = (url: string): string =>
    url.replace(
      handedOn,
      inQuery((place) => stripHandedOn(strip(place))),
    );
  const addToSent = (text: string): string =>
    text.replace(
      /(?<=(?:^|[?&])returnTo=)[^&#"]*/g,
      inQuery((place) => addToSent(add(place))),
    );

  const stripLocation = (url: string): string => stripHandedOn(/^https?:/.test(url) ? url : strip(url));

  return {
    target(target) {
      const [, origin = '', path = ''] = /^(https?:\/\/[^/?#]*)?(.*)$/is.exec(target) ?? [];
      return path.startsWith('/') && !isBelow(path) ? origin + prefix + path : target;
    },
    sent: (text) => addToSent(text).replace(/(?<="returnTo":")[^"]*/g, (place) => addToSent(add(place))),
    location: stripLocation,
    answered: (text) => text.replace(/(?<=(?:href|action|value)="|"redirectTo":")[^"]*/g, stripLocation),
  };
}
