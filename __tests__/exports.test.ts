import * as everything from 'express-auth-adapters';
import * as b2b from 'express-auth-adapters/b2b';
import * as backend from 'express-auth-adapters/backend';
import * as client from 'express-auth-adapters/client';
import * as passport from 'express-auth-adapters/passport';
import * as redis from 'express-auth-adapters/redis';
import * as testing from 'express-auth-adapters/testing';
import { serverNames } from './support/exported-names.ts';

const ofBackend = ['backendAuth', 'getSupabaseClient', 'sqlSession', 'withUser'];
const ofClient = ['createB2bClient', 'createBackendClient', 'createPasskey', 'getPasskey'];

/** Exported names are a promise to users: a name is added or removed only on purpose. */
it.each([
  ['express-auth-adapters', everything, [...serverNames, 'b2bAuth', ...ofBackend]],
  ['/b2b', b2b, [...serverNames, 'b2bAuth']],
  ['/backend', backend, [...serverNames, ...ofBackend]],
  ['/client', client, ofClient],
  ['/passport', passport, ['passportShape']],
  ['/redis', redis, ['createRedisCoordinator']],
  ['/testing', testing, ['createB2bTestKit', 'createBackendTestKit']],
])('%s exports just its public names', (_entry, entry, names) => {
  expect(Object.keys(entry).sort()).toEqual(names.toSorted());
});
