/** The built-in pages: pure functions from a view to a reply, without scripts. */
export { confirmPage } from './confirm-page.ts';
export { formErrorOf } from './form-error.ts';
export { noticePage } from './notice-page.ts';
export { signInPage } from './sign-in-page.ts';
export { signOutPage } from './sign-out-page.ts';
export { signUpPage } from './sign-up-page.ts';
export { englishText, mergeText } from './text.ts';
export type { PagesText, PagesTextKey } from './text.ts';
export type {
  ConfirmView,
  FormError,
  NoticeView,
  PageView,
  ProviderButton,
  SignInNotice,
  SignInView,
  SignOutView,
  SignUpView,
} from './view.ts';
