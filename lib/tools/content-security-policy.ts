/**
 * Whether a browser would follow a redirect after a form post, if the form's page has the same policy as this response.
 * The path of a source is ignored after a redirect (CSP Level 3 §6.7.2.8). An unknown source does not match.
 *
 * @param policies the values of the response's `Content-Security-Policy`; all of them must allow it
 * @param destination absolute
 * @param own the origin of the form's page
 * @see https://www.w3.org/TR/CSP3/#directive-form-action
 */
export function allowsFormRedirect(policies: readonly string[], destination: string, own: string): boolean {
  const target = URL.parse(destination);
  if (target === null) return false;
  return policies
    .flatMap((value) => value.split(','))
    .every((policy) => {
      const sources = formActionOf(policy);
      return sources === undefined || sources.some((source) => matches(source, target, own));
    });
}

/** The sources of the first `form-action`, the only effective one; it does not fall back to `default-src`. */
function formActionOf(policy: string): readonly string[] | undefined {
  for (const directive of policy.split(';')) {
    const [name = '', ...sources] = directive.trim().toLowerCase().split(/\s+/);
    if (name === 'form-action') return sources;
  }
  return undefined;
}

const hostSource = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*|(?:\*\.)?[a-z0-9_.-]+)(?::(\d+|\*))?(?:\/.*)?$/;

function matches(source: string, { protocol, hostname, port, origin }: URL, own: string): boolean {
  if (source === "'self'") return origin === own;
  if (source === '*') return protocol === 'https:' || protocol === 'http:';
  if (/^https?:$/.test(source)) return isUpgradeOf(protocol, source);
  const [, scheme, host = '', wantedPort] = hostSource.exec(source) ?? [];
  const isScheme = isUpgradeOf(protocol, scheme === undefined ? new URL(own).protocol : `${scheme}:`);
  const isHost = host === '*' || (host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host);
  return (
    isScheme &&
    isHost &&
    (wantedPort === '*' || (wantedPort ?? '') === port || (port === '' && isDefaultPort(wantedPort, protocol)))
  );
}

/** The same scheme, or https where http is allowed. */
function isUpgradeOf(protocol: string, allowed: string): boolean {
  return protocol === allowed || (allowed === 'http:' && protocol === 'https:');
}

function isDefaultPort(port: string | undefined, protocol: string): boolean {
  return port === (protocol === 'https:' ? '443' : '80');
}
