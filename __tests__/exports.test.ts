import * as everything from 'express-auth-adapters';
import * as b2b from 'express-auth-adapters/b2b';
import * as backend from 'express-auth-adapters/backend';
import * as client from 'express-auth-adapters/client';
import * as redis from 'express-auth-adapters/redis';
import * as testing from 'express-auth-adapters/testing';

/** Exported names are a promise to users: a name is added or removed only on purpose. */
it.each([
  [
    'express-auth-adapters',
    everything,
    [
      'AuthError',
      'ConfigurationError',
      'authenticateUpgrade',
      'b2bAuth',
      'backendAuth',
      'currentSession',
      'endSession',
      'forwardAuth',
      'getSession',
      'getSupabaseClient',
      'refuseUpgrade',
      'renewSession',
      'requireSession',
    ],
  ],
  [
    '/b2b',
    b2b,
    [
      'AuthError',
      'ConfigurationError',
      'authenticateUpgrade',
      'b2bAuth',
      'currentSession',
      'endSession',
      'forwardAuth',
      'getSession',
      'refuseUpgrade',
      'renewSession',
      'requireSession',
    ],
  ],
  [
    '/backend',
    backend,
    [
      'AuthError',
      'ConfigurationError',
      'authenticateUpgrade',
      'backendAuth',
      'currentSession',
      'endSession',
      'forwardAuth',
      'getSession',
      'getSupabaseClient',
      'refuseUpgrade',
      'renewSession',
      'requireSession',
    ],
  ],
  ['/client', client, ['createB2bClient', 'createBackendClient']],
  ['/redis', redis, ['createRedisCoordinator']],
  ['/testing', testing, ['createB2bTestKit', 'createBackendTestKit']],
])('%s exports just its public names', (_entry, entry, names) => {
  expect(Object.keys(entry).sort()).toEqual(names);
});
