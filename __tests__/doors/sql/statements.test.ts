import { foreignStatement, isClean, mayHaveEnded, ownStatements } from '../../../lib/doors/sql/statements.ts';

const own = ownStatements({ role: 'authenticated', claims: '{"sub":"it’s"}' });
const olderClaims = ['', '.sub', '.role', '.email'].map((name) => `request.jwt.claim${name}`);

it('the statements of our own set role and claims for one transaction, and check that nothing has changed them', () => {
  const { begin, check, commit, rollback } = own;
  const encoded = Buffer.from('{"sub":"it’s"}').toString('base64');
  for (const text of [begin, check]) {
    expect(text).toContain(`convert_from(decode('${encoded}', 'base64'), 'UTF8')`);
    expect(text).not.toContain('it’s');
  }
  const settings = ['request.jwt.claims', ...olderClaims, 'role'].map((name) => `set_config\\('${name}', .*?, true\\)`);
  expect(begin).toMatch(new RegExp(`^begin; select ${settings.join(', ')}$`));
  expect(begin).toContain("set_config('role', 'authenticated', true)");
  for (const name of olderClaims) expect(begin).toContain(`set_config('${name}', '', true)`);
  expect(check).toMatch(
    /^select 1 \/ case when current_setting\('role'\) = 'authenticated' and .* then 1 else 0 end as intact$/,
  );
  expect(check).toContain("current_setting('request.jwt.claims', true) = convert_from(");
  const [, state = ''] = commit.split(`${check}; commit; `);
  expect(rollback).toBe(`rollback; ${state}`);
  const kept = ['request.jwt.claims', ...olderClaims].map((name) => `current_setting('${name}', true)`).join(', ');
  expect(state).toBe(
    `select case when current_setting('role') <> 'authenticated' and concat(${kept}) = '' then 'clean' else 'kept' end as state`,
  );
});

describe('a statement that ends a transaction or changes its role', () => {
  it.each([
    ['begin'],
    ['BEGIN;'],
    ['start  transaction'],
    ['commit'],
    ['end'],
    ['abort'],
    ["prepare transaction 'x'"],
    ['rollback'],
    ['rollback work'],
    ['discard all'],
    ['reset all'],
    ['reset role'],
    ['reset "role"'],
    ['set role anon'],
    ['set local role anon'],
    ['set session role anon'],
    ['set session authorization x'],
    ['set "session_authorization" = x'],
    ['reset session authorization'],
    [' \n;-- a comment\ncommit'],
    ['-- a comment\n/* another * one */ commit'],
    ['/**/commit'],
  ])('is %j', (text) => expect(foreignStatement.test(text)).toBe(true));

  it.each([
    ['select 1'],
    ['rollback to x'],
    ['rollback to savepoint x'],
    ['rollback work to x'],
    ['rollback transaction to x'],
    ['savepoint x'],
    ['prepare x as select 1'],
    ['start'],
    ['set local statement_timeout = 1'],
    ['set roles = 1'],
    ['set x = 1'],
    ['ending'],
    ['commits'],
    ['-- commit'],
    ['/* commit */ select 1'],
    ['select 1; commit'],
    ["select 'commit'"],
    ['x commit'],
  ])('is not %j', (text) => expect(foreignStatement.test(text)).toBe(false));
});

it.each<[unknown, boolean]>([
  [undefined, false],
  [null, false],
  ['COMMIT', false],
  [{}, false],
  [{ command: 'SELECT' }, false],
  [{ command: 'COMMIT' }, true],
  [{ command: 'ROLLBACK' }, true],
  [{ command: 'PREPARE TRANSACTION' }, true],
  [[], true],
  [[{ command: 'SELECT' }], true],
])('after %j the transaction may be over: %p', (result, mayHave) => expect(mayHaveEnded(result)).toBe(mayHave));

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
