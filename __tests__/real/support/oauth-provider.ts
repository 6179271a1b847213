import { randomUUID } from 'node:crypto';
import { serve } from '../../support/servers.ts';
import { sendJson } from '../../support/hosts.ts';

/** The person at the provider; without `email` it tells nothing but who it is. */
export interface Person {
  readonly sub: string;
  readonly email?: string;
  /** Whether the provider has verified the address. Default true. */
  readonly isVerified?: boolean;
}

export type OAuthProvider = Awaited<ReturnType<typeof startOAuthProvider>>;

/** An OAuth provider with the endpoints of Keycloak and of GitLab. It asks no questions: the test says what the person answers. */
export async function startOAuthProvider(port: number) {
  let person: Person = { sub: randomUUID() };
  let refusal: string | undefined;
  let asked = new URLSearchParams();
  const people = new Map<string, Person>();
  const server = await serve((req, res) => {
    const url = new URL(req.url ?? '/', 'http://provider');
    if (/\/auth(?:orize)?$/.test(url.pathname)) {
      asked = url.searchParams;
      const back = new URL(url.searchParams.get('redirect_uri') ?? '');
      const code = randomUUID();
      people.set(code, person);
      back.searchParams.set('state', url.searchParams.get('state') ?? '');
      if (refusal === undefined) back.searchParams.set('code', code);
      else back.searchParams.set('error', refusal);
      res.writeHead(302, { location: back.href }).end();
    } else if (url.pathname.endsWith('/token')) {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => {
        const code = new URLSearchParams(Buffer.concat(chunks).toString()).get('code') ?? '';
        sendJson(res, { access_token: code, refresh_token: `renew-${code}`, token_type: 'bearer', expires_in: 300 });
      });
    } else if (url.pathname.endsWith('/emails')) {
      sendJson(res, []);
    } else {
      const whose = people.get(req.headers.authorization?.slice('Bearer '.length) ?? '') ?? { sub: '' };
      const { sub, email, isVerified = true } = whose;
      const address = {
        email,
        email_verified: isVerified,
        ...(isVerified && { confirmed_at: '2026-01-01T00:00:00Z' }),
      };
      // GitLab's ids are numbers.
      const ids = { sub, id: Number.parseInt(sub.slice(0, 7), 16) };
      sendJson(res, { ...ids, name: 'Ada', ...(email === undefined ? {} : address) });
    }
  }, port);

  return {
    /** Signs this person in from now on. */
    signIn(next: Person) {
      person = next;
      refusal = undefined;
    },
    /** The parameters of the last request to its sign-in page. */
    asked: (): URLSearchParams => asked,
    /** Answers with this error from now on. */
    refuse(error: string) {
      refusal = error;
    },
    close: () => server.close(),
  };
}
