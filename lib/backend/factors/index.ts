import type { Feature } from '../feature.ts';
import { enrollRoute } from './enroll-route.ts';
import { hasVerifiedFactor } from './factors.ts';
import { verifyRoute } from './verify-route.ts';

/** Second factors: authenticator apps, phones, and security keys where passkeys are on. */
export const factors: Feature = {
  routes: (backend) => [verifyRoute(backend), enrollRoute(backend)],
  step: ({ paths }) => ({ name: 'factor', path: paths.verify }),
  adapter: (backend) => ({
    secondFactor: {
      verifyPath: backend.settings.paths.verify,
      enrollPath: backend.settings.paths.enroll,
      hasVerifiedFactor: (session) => hasVerifiedFactor(backend, session),
    },
  }),
};
