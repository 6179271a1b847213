import type { Feature } from '../feature.ts';
import { createAttempts } from './limits.ts';

/** Limits of failed sign-ins, before the backend is asked. */
export const throttle: Feature = {
  parts: ({ settings, emit }) => ({ attempts: createAttempts({ ...settings, emit }) }),
};
