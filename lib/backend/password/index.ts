import { asBadAddress, readCaptcha, readEmail, readPassword } from '../forms/fields.ts';
import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';
import type { SignInPart } from '../slots.ts';
import { offers } from '../options.ts';
import { emailField, passwordField } from '../pages/field.ts';
import { forgotLink, lastUsedAt, returnToOf } from '../pages/parts.ts';
import { withOffer } from '../sign-in/offer.ts';
import { completeSignIn } from '../sign-in/sign-in.ts';
import { passwordMethod } from './options.ts';

const submit: SignInPart<BackendContext>['submit'] = async (backend, request, fields, returnTo) => {
  const email = readEmail(fields);
  const password = readPassword(fields);
  const ask = () =>
    backend.supabase.call(request, async ({ auth, unwrap }) => {
      const options = readCaptcha(fields);
      return unwrap(await auth.signInWithPassword({ email, password, options })).session;
    });
  const issued = await backend.attempts.run(request.req, email, () => ask().catch(asBadAddress));
  const next = await completeSignIn(backend, request, issued, returnTo, passwordMethod);
  return withOffer(backend, request, { returnTo, next });
};

/** Email and password, on the sign-in page. */
const show: SignInPart<BackendContext>['show'] = (site, request, state) => ({
  form: ({ autocomplete, buttons }) => ({
    part: 'form',
    action: request.localPath(site.settings.loginPath),
    hidden: returnToOf(state),
    fields: [
      emailField(site, { value: state.email }, autocomplete),
      passwordField(site, { label: site.text.password, aside: forgotLink(site, request, state) }),
    ],
    buttons: [{ label: site.text.signInButton, ...lastUsedAt(site, passwordMethod) }, ...buttons],
  }),
});

export const password: Feature = {
  signIn: (settings) => (offers(settings, passwordMethod) ? { ways: [passwordMethod], submit, show } : undefined),
  account: (settings) =>
    offers(settings, passwordMethod) ? { signsIn: (provider) => provider === 'email' } : undefined,
};
