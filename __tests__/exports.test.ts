import * as everything from 'express-auth-adapters';
import * as b2b from 'express-auth-adapters/b2b';
import * as backend from 'express-auth-adapters/backend';
import * as client from 'express-auth-adapters/client';
import * as passport from 'express-auth-adapters/passport';
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
      'authInfo',
      'authenticateUpgrade',
      'b2bAuth',
      'backendAuth',
      'createNonce',
      'createTokenVerifier',
      'currentSession',
      'endSession',
      'forwardAuth',
      'getSession',
      'getSupabaseClient',
      'messageOf',
      'protectResource',
      'refuseUpgrade',
      'renewSession',
      'requireSameOrigin',
      'requireSession',
      'sqlSession',
      'storeSession',
      'takeNonce',
      'withUser',
    ],
  ],
  [
    '/b2b',
    b2b,
    [
      'AuthError',
      'ConfigurationError',
      'authInfo',
      'authenticateUpgrade',
      'b2bAuth',
      'createNonce',
      'createTokenVerifier',
      'currentSession',
      'endSession',
      'forwardAuth',
      'getSession',
      'messageOf',
      'protectResource',
      'refuseUpgrade',
      'renewSession',
      'requireSameOrigin',
      'requireSession',
      'storeSession',
      'takeNonce',
    ],
  ],
  [
    '/backend',
    backend,
    [
      'AuthError',
      'ConfigurationError',
      'authInfo',
      'authenticateUpgrade',
      'backendAuth',
      'createNonce',
      'createTokenVerifier',
      'currentSession',
      'endSession',
      'forwardAuth',
      'getSession',
      'getSupabaseClient',
      'messageOf',
      'protectResource',
      'refuseUpgrade',
      'renewSession',
      'requireSameOrigin',
      'requireSession',
      'sqlSession',
      'storeSession',
      'takeNonce',
      'withUser',
    ],
  ],
  ['/client', client, ['createB2bClient', 'createBackendClient', 'createPasskey', 'getPasskey']],
  ['/passport', passport, ['passportShape']],
  ['/redis', redis, ['createRedisCoordinator']],
  ['/testing', testing, ['createB2bTestKit', 'createBackendTestKit']],
])('%s exports just its public names', (_entry, entry, names) => {
  expect(Object.keys(entry).sort()).toEqual(names);
});
