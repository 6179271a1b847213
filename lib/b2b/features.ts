import { lifetime } from '../http/lifetime/index.ts';
import type { Feature } from './feature.ts';
import { organizations } from './organizations/index.ts';

/** Every capability of `b2bAuth`. */
export const features: readonly Feature[] = [organizations, lifetime];
