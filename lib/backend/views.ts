import type { AuthError } from '../errors.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import type { BackendOptions } from './options.ts';
import type {
  ConfirmView,
  FormError,
  NoticeView,
  PagesText,
  ProviderButton,
  SignInView,
  SignOutView,
  SignUpView,
} from './pages/index.ts';
import { providerLabel } from './provider-labels.ts';

type ViewSettings = Pick<
  BackendOptions,
  'loginPath' | 'signupPath' | 'resendPath' | 'confirmPath' | 'logoutPath' | 'providers' | 'pages'
>;

interface FormState {
  readonly status: number;
  readonly returnTo: string;
  readonly email?: string | undefined;
  readonly error?: FormError | undefined;
}

/** What the built-in pages show on one request: complete URLs, texts, buttons. */
export interface Views {
  readonly text: PagesText;
  signIn(request: AuthRequest, state: FormState & Pick<SignInView, 'offerResend' | 'notice'>): SignInView;
  signUp(request: AuthRequest, state: FormState): SignUpView;
  confirm(
    request: AuthRequest,
    state: Pick<ConfirmView, 'tokenHash' | 'type' | 'error'> & Pick<FormState, 'status' | 'returnTo'>,
  ): ConfirmView;
  signOut(request: AuthRequest, returnTo: string): SignOutView;
  mail(request: AuthRequest, kind: 'confirmation_sent' | 'mail_sent', email: string, returnTo: string): NoticeView;
  news(request: AuthRequest, kind: 'please_sign_in' | 'other_link', returnTo: string): NoticeView;
}

export function createViews(settings: ViewSettings, text: PagesText): Views {
  const { pages } = settings;
  const base = (request: AuthRequest, status: number) => ({
    status,
    stylesheet: request.stylesheetUrl,
    brand: request.definition.brand,
    text,
  });
  const form = (request: AuthRequest, { status, returnTo, email, error }: FormState) => ({
    ...base(request, status),
    ...wayBack(returnTo),
    email,
    error,
    providers: buttons(request, returnTo),
  });
  const signInHref = (request: AuthRequest): string => request.signInUrl(request.home);
  const resendAction = (request: AuthRequest): string => request.localPath(settings.resendPath);

  function buttons(request: AuthRequest, returnTo: string): ProviderButton[] {
    return settings.providers.map((provider) => {
      const query = new URLSearchParams({ provider: provider.name, ...wayBack(returnTo) });
      const label = ('label' in provider ? provider.label : undefined) ?? providerLabel(provider.name);
      return { name: provider.name, label, href: `${request.localPath(settings.loginPath)}?${query.toString()}` };
    });
  }

  return {
    text,
    signIn: (request, state) => ({
      ...form(request, state),
      action: request.localPath(settings.loginPath),
      signUpHref: pages.signUp ?? request.localPath(settings.signupPath),
      resendAction: resendAction(request),
      offerResend: state.offerResend,
      notice: state.notice,
    }),
    signUp: (request, state) => ({
      ...form(request, state),
      action: request.localPath(settings.signupPath),
      signInHref: signInHref(request),
    }),
    confirm: (request, { status, returnTo, ...state }) => ({
      ...base(request, status),
      ...wayBack(returnTo),
      ...state,
      action: request.localPath(settings.confirmPath),
    }),
    signOut: (request, returnTo) => ({
      ...base(request, 200),
      ...wayBack(returnTo),
      action: request.localPath(settings.logoutPath),
      stayHref: returnTo,
    }),
    mail: (request, kind, email, returnTo) => ({
      ...base(request, 200),
      ...wayBack(returnTo),
      kind,
      email,
      resendAction: resendAction(request),
      signInHref: signInHref(request),
    }),
    news: (request, kind, returnTo) => ({
      ...base(request, 200),
      ...wayBack(returnTo),
      kind,
      signInHref: signInHref(request),
    }),
  };
}

/** `/` is the default, so it is left out of URLs. */
function wayBack(returnTo: string): { readonly returnTo?: string } {
  return returnTo === '/' ? {} : { returnTo };
}

/** `Retry-After` for a page that shows a failure. */
export function retryHeaders({ retryAfter }: AuthError): Readonly<Record<string, string>> {
  return retryAfter === undefined ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(retryAfter))) };
}
