import type { Feature } from '../feature.ts';
import { enrollRoute } from './enroll-route.ts';
import { hasVerifiedFactor } from './factors.ts';
import { verifyRoute } from './verify-route.ts';

/** Second factors: authenticator apps, phones, and security keys where passkeys are on. */
export const factors: Feature = {
  routes: (backend) => [verifyRoute(backend), enrollRoute(backend)],
  step: ({ verifyPath }) => ({ name: 'factor', path: verifyPath }),
  adapter: (backend) => ({
    secondFactor: {
      verifyPath: backend.settings.verifyPath,
      enrollPath: backend.settings.enrollPath,
      hasVerifiedFactor: (session) => hasVerifiedFactor(backend, session),
    },
  }),
};
