import { AuthError } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { isHttpUrl } from '../../http/options.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm, formElsewhere } from '../form-answers.ts';
import { FormProblem, readCaptcha, readEmail, readReturnTo } from '../form-fields.ts';
import { ssoPage } from '../pages/sso-page.ts';
import { redirectUrl, rememberFlow } from './start-flow.ts';

/** GoTrue's codes for a domain without a usable identity provider. */
const unavailable: ReadonlySet<string | undefined> = new Set([
  'sso_provider_not_found',
  'sso_provider_disabled',
  'saml_provider_disabled',
]);

/** `/auth/sso`: to the SAML identity provider of the email's domain. It comes back through the callback, as OAuth does. */
export function ssoRoute(backend: BackendContext): AuthRoute {
  const { settings, supabase, flows, attempts } = backend;

  async function start(request: AuthRequest, fields: Fields, returnTo: string): Promise<Reply> {
    const domain = readDomain(fields);
    const options = { redirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
    const ask = () =>
      supabase.call(request, async (call) => {
        const result = await call.auth.signInWithSSO({ domain, options });
        const url = call.unwrap(result)?.url ?? '';
        if (!isHttpUrl(url)) throw new AuthError('provider_refused');
        return { url, writes: rememberFlow(call, flows, request.cookies, { kind: 'oauth', returnTo }) };
      });
    const { url, writes } = await attempts.run(request.req, undefined, () => ask().catch(asUnavailable), 'forgives');
    request.writeCookies(writes);
    return redirectOrJson(request, url);
  }

  return {
    path: settings.ssoPath,
    option: 'ssoPath',
    get(request) {
      const returnTo = readReturnTo(request);
      return formElsewhere(request, undefined, settings.ssoPath, returnTo) ?? ssoPage(backend, request, { returnTo });
    },
    async post(request) {
      const fields = await readFields(request.req, request.res);
      const returnTo = readReturnTo(request, fields);
      try {
        return await start(request, fields, returnTo);
      } catch (error) {
        const shown = errorForForm(backend, request, error);
        const email = fields.get('email') ?? fields.get('domain');
        return ssoPage(backend, request, { returnTo, email, error: shown });
      }
    },
  };
}

/** The field `domain`, else the address' own: in lower case, as GoTrue compares it. @throws {FormProblem} */
function readDomain(fields: Fields): string {
  const given = fields.get('domain')?.trim() ?? readEmail(fields).replace(/^.*@/, '');
  const domain = given.toLowerCase();
  if (domain.length <= 253 && /^[^\s@/:\\]+\.[^\s@/:\\]+$/.test(domain)) return domain;
  throw new FormProblem('email', 'emailInvalid', 'The domain is not valid.');
}

function asUnavailable(error: unknown): never {
  if (!(error instanceof AuthError) || !unavailable.has(error.reason)) throw error;
  throw new AuthError('sso_unavailable', { cause: error.cause, reason: error.reason });
}
