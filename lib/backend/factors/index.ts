import type { Feature } from '../feature.ts';
import { enrollRoute } from './enroll-route.ts';
import { hasVerifiedFactor, readFactors } from './factors.ts';
import { appIcon } from './page.ts';
import { verifyRoute } from './verify-route.ts';

/** Second factors: authenticator apps, phones, and security keys where passkeys are on. */
export const factors: Feature = {
  routes: (backend) => [verifyRoute(backend), enrollRoute(backend)],
  account: () => ({
    row: (backend, _request, { site, user }) => {
      const { verified } = readFactors(user);
      const { factorsHeading: label, factorsOn, factorsOff } = site.text;
      const state = verified.length > 0 ? factorsOn : factorsOff;
      return {
        field: 'factors',
        value: verified.length,
        label,
        state,
        path: backend.settings.paths.enroll,
        icon: appIcon,
      };
    },
  }),
  step: ({ paths }) => ({ name: 'factor', path: paths.verify }),
  adapter: (backend) => ({
    secondFactor: {
      verifyPath: backend.settings.paths.verify,
      enrollPath: backend.settings.paths.enroll,
      hasVerifiedFactor: (session) => hasVerifiedFactor(backend, session),
    },
  }),
};
