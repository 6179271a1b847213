import type { Router } from 'express';
import { b2bRouter } from '../../lib/b2b/adapter.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import { readB2bOptions } from '../../lib/b2b/options.ts';
import { backendRouter } from '../../lib/backend/adapter.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { readBackendOptions } from '../../lib/backend/options.ts';
import type { FixedBackend, FixedShared } from '../../lib/options/former.ts';
import { defined } from '../../lib/tools/json.ts';

type Given<Values> = { readonly [Name in keyof Values]?: Values[Name] | undefined };

/** What is fixed in applications, and what suites choose. */
export type B2bSuiteOptions = Omit<B2bAuthOptions, keyof FixedShared> & Given<FixedShared>;

export type BackendSuiteOptions = Omit<BackendAuthOptions, keyof FixedShared | keyof FixedBackend> &
  Given<FixedShared & FixedBackend>;

export function buildB2b({ maxCachedSessions, ...options }: B2bSuiteOptions): Router {
  return b2bRouter({ ...readB2bOptions(options), ...defined({ maxCachedSessions }) });
}

export function buildBackend({ maxCachedSessions, mailAnswerMs, ...options }: BackendSuiteOptions): Router {
  return backendRouter({ ...readBackendOptions(options), ...defined({ maxCachedSessions, mailAnswerMs }) });
}
