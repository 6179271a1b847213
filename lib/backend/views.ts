import type { AuthError } from '../errors.ts';
import type { Exchange } from '../http/auth-request.ts';
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
  signIn(exchange: Exchange, state: FormState & Pick<SignInView, 'offerResend' | 'notice'>): SignInView;
  signUp(exchange: Exchange, state: FormState): SignUpView;
  confirm(
    exchange: Exchange,
    state: Pick<ConfirmView, 'tokenHash' | 'type' | 'error'> & Pick<FormState, 'status' | 'returnTo'>,
  ): ConfirmView;
  signOut(exchange: Exchange, returnTo: string): SignOutView;
  mail(exchange: Exchange, kind: 'confirmation_sent' | 'mail_sent', email: string, returnTo: string): NoticeView;
  news(exchange: Exchange, kind: 'please_sign_in' | 'other_link', returnTo: string): NoticeView;
}

export function createViews(settings: ViewSettings, text: PagesText): Views {
  const { pages } = settings;
  const base = (exchange: Exchange, status: number) => ({
    status,
    stylesheet: exchange.localPath(exchange.definition.stylesheetPath),
    brand: exchange.definition.brand,
    text,
  });
  const form = (exchange: Exchange, { status, returnTo, email, error }: FormState) => ({
    ...base(exchange, status),
    ...wayBack(returnTo),
    email,
    error,
    providers: buttons(exchange, returnTo),
  });
  const signInHref = (exchange: Exchange): string => exchange.signInUrl(exchange.home);
  const resendAction = (exchange: Exchange): string => exchange.localPath(settings.resendPath);

  function buttons(exchange: Exchange, returnTo: string): ProviderButton[] {
    return settings.providers.map((provider) => {
      const query = new URLSearchParams({ provider: provider.name, ...wayBack(returnTo) });
      const label = ('label' in provider ? provider.label : undefined) ?? providerLabel(provider.name);
      return { name: provider.name, label, href: `${exchange.localPath(settings.loginPath)}?${query.toString()}` };
    });
  }

  return {
    text,
    signIn: (exchange, state) => ({
      ...form(exchange, state),
      action: exchange.localPath(settings.loginPath),
      signUpHref: pages.signUp ?? exchange.localPath(settings.signupPath),
      resendAction: resendAction(exchange),
      offerResend: state.offerResend,
      notice: state.notice,
    }),
    signUp: (exchange, state) => ({
      ...form(exchange, state),
      action: exchange.localPath(settings.signupPath),
      signInHref: signInHref(exchange),
    }),
    confirm: (exchange, { status, returnTo, ...state }) => ({
      ...base(exchange, status),
      ...wayBack(returnTo),
      ...state,
      action: exchange.localPath(settings.confirmPath),
    }),
    signOut: (exchange, returnTo) => ({
      ...base(exchange, 200),
      ...wayBack(returnTo),
      action: exchange.localPath(settings.logoutPath),
      stayHref: returnTo,
    }),
    mail: (exchange, kind, email, returnTo) => ({
      ...base(exchange, 200),
      ...wayBack(returnTo),
      kind,
      email,
      resendAction: resendAction(exchange),
      signInHref: signInHref(exchange),
    }),
    news: (exchange, kind, returnTo) => ({
      ...base(exchange, 200),
      ...wayBack(returnTo),
      kind,
      signInHref: signInHref(exchange),
    }),
  };
}

/** The start page is where everybody ends up anyway. */
function wayBack(returnTo: string): { readonly returnTo?: string } {
  return returnTo === '/' ? {} : { returnTo };
}

/** `Retry-After` for a page that shows a failure. */
export function retryHeaders({ retryAfter }: AuthError): Readonly<Record<string, string>> {
  return retryAfter === undefined ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(retryAfter))) };
}
