import type { PageFacts, PageKind } from '../../pages/view.ts';
import { formValues, withReturnTo } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';
import { providerChoices } from '../oauth/buttons.ts';

/** The sign-in page as data. @param canResend whether the account still needs the email that confirms its address */
export function signInFacts(site: Site, request: PageRequest, state: FormState, canResend: boolean): PageFacts {
  const { settings } = site;
  const { signInMethods: methods, signUp, sso, pages } = settings;
  const [hasPasswords, hasCodes] = [methods.includes('password'), methods.includes('code')];
  const to = (path: string): string => withReturnTo(request.localPath(path), state);
  return {
    kind: 'sign_in',
    action:
      hasPasswords || hasCodes ? request.localPath(hasPasswords ? settings.loginPath : settings.codePath) : undefined,
    fields: [...(hasPasswords || hasCodes ? ['email'] : []), ...(hasPasswords ? ['password'] : [])],
    values: formValues(state),
    links: {
      forgot: hasPasswords && to(settings.forgotPath),
      signUp:
        signUp !== false && hasPasswords && withReturnTo(pages.signUp ?? request.localPath(settings.signupPath), state),
      sso: sso && to(settings.ssoPath),
      code: hasCodes && to(settings.codePath),
      resend: canResend && request.localPath(settings.resendPath),
      passkey: methods.includes('passkey') && request.localPath(settings.passkeyPath),
    },
    choices: providerChoices(site, request, state),
  };
}

/** A page as data that asks for an address. */
export function addressFacts(kind: PageKind, request: PageRequest, state: FormState, path: string): PageFacts {
  const links = { signIn: request.signInUrl(state.returnTo) };
  return { kind, action: request.localPath(path), fields: ['email'], values: formValues(state), links };
}
