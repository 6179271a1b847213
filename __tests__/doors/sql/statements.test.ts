import { isClean, ownStatements } from '../../../lib/doors/sql/statements.ts';

const own = ownStatements({ role: 'authenticated', claims: '{"sub":"it’s"}' });
const olderClaims = ['', '.sub', '.role', '.email'].map((name) => `request.jwt.claim${name}`);

it('the statements of our own set role and claims for one transaction, and commit only where they are unchanged', () => {
  const { begin, commit, rollback } = own;
  const encoded = Buffer.from('{"sub":"it’s"}').toString('base64');
  const json = `pg_catalog.convert_from(pg_catalog.decode('${encoded}', 'base64'), 'UTF8')`;
  const older = olderClaims.map((name) => `pg_catalog.set_config('${name}', '', true), `).join('');
  expect(begin).toBe(
    `begin; select pg_catalog.set_config('request.jwt.claims', ${json}, true), ${older}pg_catalog.set_config('role', 'authenticated', true)`,
  );
  const current = (name: string): string => `pg_catalog.current_setting('${name}', true)`;
  const isUsers = `${current('role')} operator(pg_catalog.=) 'authenticated' and ${current('request.jwt.claims')} operator(pg_catalog.=) ${json}`;
  const kept = ['request.jwt.claims', ...olderClaims].map(current).join(', ');
  const isClean = `${current('role')} operator(pg_catalog.<>) 'authenticated' and pg_catalog.concat(${kept}) operator(pg_catalog.=) ''`;
  const state = `select case when ${isClean} then 'clean' else 'kept' end as state`;
  expect(commit).toBe(
    `select 1 operator(pg_catalog./) case when ${isUsers} then 1 else 0 end as intact; commit; ${state}`,
  );
  expect(rollback).toBe(`rollback; ${state}`);
});

it.each<[unknown, boolean]>([
  [undefined, false],
  [null, false],
  [[], false],
  [{}, false],
  [{ rows: 'clean' }, false],
  [{ rows: [] }, false],
  [{ rows: [null] }, false],
  [{ rows: ['clean'] }, false],
  [{ rows: [{}] }, false],
  [{ rows: [{ state: 'kept' }] }, false],
  [{ rows: [{ state: 'kept', more: 'clean' }] }, false],
  [{ rows: [{ state: 'clean' }] }, true],
  [{ rows: [['clean']] }, true],
  [[{ rows: [{ state: 'clean' }] }, { rows: [{ state: 'kept' }] }], false],
  [[{ rows: [{ state: 'kept' }] }, { rows: [{ state: 'clean' }] }], true],
])('%j says that the connection keeps no user: %p', (result, says) => expect(isClean(result)).toBe(says));
