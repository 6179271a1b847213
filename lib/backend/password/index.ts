import { html } from '../../tools/html.ts';
import { asBadAddress, readCaptcha, readEmail, readPassword } from '../forms/fields.ts';
import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';
import type { SignInPart } from '../slots.ts';
import { offers } from '../options.ts';
import { emailField, field } from '../pages/field.ts';
import { forgotLink, forgotUrl, postForm, returnToOf } from '../pages/parts.ts';
import { completeSignIn } from '../sign-in/sign-in.ts';

const submit: SignInPart<BackendContext>['submit'] = async (backend, request, fields, returnTo) => {
  const email = readEmail(fields);
  const password = readPassword(fields);
  const ask = () =>
    backend.supabase.call(request, async ({ auth, unwrap }) => {
      const options = readCaptcha(fields);
      return unwrap(await auth.signInWithPassword({ email, password, options })).session;
    });
  const issued = await backend.attempts.run(request.req, email, () => ask().catch(asBadAddress));
  return completeSignIn(backend, request, issued, returnTo);
};

/** Email and password, on the sign-in page. */
const show: SignInPart<BackendContext>['show'] = (site, request, state) => ({
  form: {
    path: site.settings.loginPath,
    fields: ['email', 'password'],
    content({ error, focus, autocomplete, buttons }) {
      const { text, settings } = site;
      const address = { value: state.email, error, hasFocus: focus === 'email' };
      const password = field({
        name: 'password',
        type: 'password',
        label: text.password,
        autocomplete: 'current-password',
        aside: forgotLink(site, request, state),
        error,
        hasFocus: focus === 'password',
      });
      const fields = html`${emailField(site, address, autocomplete)}
${password}
<button>${text.signInButton}</button>
${buttons}`;
      return postForm(request.localPath(settings.loginPath), returnToOf(state), fields);
    },
  },
  links: { forgot: forgotUrl(site, request, state) },
});

export const password: Feature = {
  signIn: (settings) => (offers(settings, 'password') ? { submit, show } : undefined),
};
