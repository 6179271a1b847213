import { AuthError } from '../../errors.ts';
import { isScripted } from '../../http/message.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { Fields } from '../../http/body.ts';
import { isHttpUrl } from '../../options/shared.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import { FormProblem, readCaptcha, readEmail, rethrowAs } from '../forms/fields.ts';
import { formRoute, redirectUrl } from '../forms/forms.ts';
import { siteFor } from '../pages/parts.ts';
import { ssoPage } from './page.ts';

/** GoTrue's codes for a domain without a usable identity provider. */
const ssoUnavailable: ReadonlySet<string | undefined> = new Set([
  'sso_provider_not_found',
  'sso_provider_disabled',
  'saml_provider_disabled',
]);
const asUnavailable = rethrowAs('sso_unavailable', ({ reason }) => ssoUnavailable.has(reason));

/** `/auth/sso`: redirects to the SAML identity provider of the email's domain, which returns through the callback like OAuth. */
export function ssoRoute(backend: BackendContext): AuthRoute {
  return formRoute(backend, {
    path: backend.settings.paths.sso,
    option: 'paths.sso',
    page(request, { returnTo, fields, error }) {
      const email = fields.get('email') ?? fields.get('domain');
      return ssoPage(siteFor(backend, request), request, { returnTo, email, error });
    },
    submit: (request, fields, returnTo) => startSso(backend, request, fields, returnTo),
  });
}

async function startSso(
  { settings, supabase, flows, attempts }: BackendContext,
  request: AuthRequest,
  fields: Fields,
  returnTo: string,
): Promise<string> {
  const domain = readDomain(fields);
  const options = { redirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
  const ask = () =>
    supabase.call(request, async (call) => {
      const result = await call.auth.signInWithSSO({ domain, options });
      const url = call.unwrap(result)?.url ?? '';
      if (!isHttpUrl(url)) throw new AuthError('provider_refused');
      const mark = isScripted(request.req) ? 'scripted' : undefined;
      return { url, writes: flows.remember(call.started(), { kind: 'oauth', returnTo, mark }, request.cookies) };
    });
  const { url, writes } = await attempts.run(request.req, undefined, () => ask().catch(asUnavailable));
  request.writeCookies(writes);
  return url;
}

/** The field `domain`, else the domain of the address, in lower case, as GoTrue compares it. @throws {FormProblem} */
function readDomain(fields: Fields): string {
  const given = fields.get('domain')?.trim() ?? readEmail(fields).replace(/^.*@/, '');
  const domain = given.toLowerCase();
  if (domain.length <= 253 && /^[^\s@/:\\]+\.[^\s@/:\\]+$/.test(domain)) return domain;
  throw new FormProblem('email', 'emailInvalid', 'The domain is not valid.');
}
