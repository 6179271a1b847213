import { lifetime } from '../http/lifetime/index.ts';
import { account } from './account/index.ts';
import { confirm } from './confirm/index.ts';
import { consent } from './consent/index.ts';
import { emailCode } from './email-code/index.ts';
import { factors } from './factors/index.ts';
import type { Feature } from './feature.ts';
import { oauth } from './oauth/index.ts';
import { passkeys } from './passkeys/index.ts';
import { password } from './password/index.ts';
import { providerTokens } from './provider-tokens/index.ts';
import { reset } from './reset/index.ts';
import { signUp } from './sign-up/index.ts';
import { sso } from './sso/index.ts';
import { throttle } from './throttle/index.ts';

/** Every capability of `backendAuth`, in the order of the sign-in page. */
export const features: readonly Feature[] = [
  oauth,
  password,
  emailCode,
  passkeys,
  sso,
  signUp,
  reset,
  confirm,
  factors,
  consent,
  throttle,
  providerTokens,
  lifetime,
  account,
];
