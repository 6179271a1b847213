import type { Request, Response, NextFunction } from 'express';
import type express from 'express';
import http from 'node:http';
import { b2bAuth, backendAuth, currentSession, getSession, requireSession } from 'express-auth-adapters';
import { de } from 'express-auth-adapters/texts/de';
import type {
  AuthErrorCode,
  B2bClaims,
  B2bSession,
  BackendSession,
  OnError,
  RequireSessionOptions,
  Session,
  AuthError,
  Translation,
} from 'express-auth-adapters';

declare module 'express-auth-adapters' {
  /** What a JWT template of the application's own adds. */
  interface B2bClaims {
    readonly plan?: 'free' | 'paid';
  }
}

type Same<A, B> = [A, B] extends [B, A] ? true : false;

// A wrong type makes one of these `true`s a compile error.
const sameTypes: [
  Same<B2bSession['claims'], B2bClaims>,
  Same<B2bClaims['org_id'], string | undefined>,
  Same<B2bClaims['roles'], readonly string[] | undefined>,
  Same<B2bClaims['plan'], 'free' | 'paid' | undefined>,
  Same<Session['credential'], 'cookie' | 'bearer'>,
  Same<Parameters<OnError>, [AuthError, Request, Response, NextFunction]>,
] = [true, true, true, true, true, true];

/** Every text of the pages, and nothing else: a translation that lacks one does not compile. */
const translated: Translation = de;
export function incomplete(others: Omit<Translation, 'signInButton'>): Translation {
  // @ts-expect-error `signInButton` is missing
  return others;
}
export const overridden: Translation = { ...translated, signInButton: 'Los geht’s' };

/** Texts of one language, or of several by their tags; never called, like the next one. */
export function texts(): unknown {
  const byTag: Readonly<Record<string, Partial<Translation>>> = { de };
  b2bAuth({ pages: { text: byTag } });
  b2bAuth({ pages: { text: { de, 'pt-BR': { signOutButton: 'Sair' }, fr: undefined } } });
  backendAuth({ pages: { text: { de, en: {} } } });
  // @ts-expect-error a misspelled text of the second language
  backendAuth({ pages: { text: { de, fr: { signInButon: 'Connexion' } } } });
  // @ts-expect-error a misspelled text
  backendAuth({ pages: { text: { signInButton: 'Anmelden', signUpButon: 'Konto anlegen' } } });
  // @ts-expect-error not a text
  return backendAuth({ pages: { text: { de: { signInButton: 1 } } } });
}

/** Never called: these lines only have to compile, and the marked ones have to fail. */
export function compiled(app: express.Express): unknown {
  app.use(
    b2bAuth({
      onSignIn: ({ session, req }) => {
        const names = [req.ip, req.params['tenant'], req.get('user-agent'), session.organizationId];
        return { redirectTo: `/${names.join('-')}` };
      },
      onError: (error, req, res, next) => {
        if (req.path.startsWith('/api')) res.status(error.status).json({ code: error.code });
        else next(error);
      },
    }),
  );
  app.use(
    backendAuth({ onSignIn: ({ session, req }) => ({ redirectTo: `/${req.ip ?? ''}${session.user.email ?? ''}` }) }),
  );
  app.use(
    '/teams/:team',
    requireSession({
      adapter: 'b2b',
      check: (session, req) =>
        session.claims.permissions?.includes('teams:write') === true && session.claims.role === req.params['team'],
    }),
  );
  app.use(requireSession({ check: async (session) => session.adapter === 'b2b' && session.claims.plan === 'paid' }));
  app.use(requireSession({ adapter: 'backend', aal: 'enrolled', maxAge: 300 }));
  app.use(requireSession({ credentials: ['cookie', 'bearer'], clients: ['client_1'] }));
  app.get('/me', requireSession, async (req, res) => {
    const session: Session | null = await getSession(req);
    const b2b: B2bSession = currentSession(req, 'b2b');
    const backend: BackendSession = currentSession(req, 'backend');
    res.json([session?.user.id, b2b.claims.feature_flags, b2b.claims.act?.sub, backend.claims['aal'], b2b.credential]);
  });
  // Handlers of bare node:http, and with its types.
  const onError: OnError = (error: AuthError, _req: http.IncomingMessage, res: http.ServerResponse) => {
    const code: AuthErrorCode = error.code;
    res.end(code);
  };
  http.createServer((req, res) => void getSession(req).then((session) => res.end(session?.user.id)));
  // @ts-expect-error aal belongs to the backend adapter
  requireSession({ adapter: 'b2b', aal: 'aal2' });
  // @ts-expect-error organization belongs to the B2B adapter
  requireSession({ adapter: 'backend', organization: true });
  // @ts-expect-error a check says true or false
  requireSession({ check: () => 'yes' });
  // @ts-expect-error there is no such credential
  requireSession({ credentials: ['basic'] });
  // @ts-expect-error seconds, as a number
  requireSession({ maxAge: '300' });
  // @ts-expect-error a plan that the application does not have
  return (claims: B2bClaims) => [onError, claims.plan === 'gold'];
}

it('holds for each line that an application writes first', () => {
  expect(sameTypes).not.toContain(false);
});

it('says of options without types what the compiler would', () => {
  const refusalOf = (options: object): string => {
    try {
      requireSession(options as RequireSessionOptions);
      return '';
    } catch (error) {
      return error instanceof Error ? error.message : '';
    }
  };
  for (const [options, word] of [
    [{ maxAge: 0 }, 'maxAge'],
    [{ maxAge: '300' }, 'maxAge'],
    [{ maxAge: 1.5 }, 'maxAge'],
    [{ maxAge: Infinity }, 'maxAge'],
    [{ maxAge: undefined }, 'maxAge'],
    [{ aal: 'aal3' }, 'aal'],
    [{ credentials: [] }, 'credentials'],
    [{ credentials: 'bearer' }, 'credentials'],
    [{ credentials: ['basic'] }, 'credentials'],
    [{ credentials: undefined }, 'credentials'],
    [{ credentials: ['bearer'], clients: [] }, 'clients'],
    [{ credentials: ['bearer'], clients: [''] }, 'clients'],
    [{ credentials: ['bearer'], clients: 'client_1' }, 'clients'],
    [{ clients: ['client_1'] }, 'clients'],
    [{ credentials: ['cookie'], clients: ['client_1'] }, 'clients'],
  ] as const) {
    expect([options, refusalOf(options)]).toEqual([options, expect.stringContaining(word)]);
  }
});
