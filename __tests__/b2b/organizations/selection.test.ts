import { chosenOrganization, selectionOf } from '../../../lib/b2b/organizations/selection.ts';

const one = { id: 'org_1', name: 'One' };
const two = { id: 'org_2', name: 'Two' };

describe('what WorkOS offers', () => {
  it('is a pending token and the organizations, without other fields', () => {
    const details = { pending_authentication_token: 'p', organizations: [{ ...one, secret: 1 }, two], user: {} };
    expect(selectionOf(details)).toEqual({
      kind: 'selection',
      pendingAuthenticationToken: 'p',
      organizations: [one, two],
    });
  });

  it('skips entries that are not organizations', () => {
    const organizations = [
      null,
      'org',
      7,
      {},
      { id: 'a' },
      { name: 'a' },
      { id: 1, name: 'a' },
      { id: 'a', name: 1 },
      two,
    ];
    expect(selectionOf({ pending_authentication_token: 'p', organizations })?.organizations).toEqual([two]);
  });

  it.each([
    [{}],
    [{ pending_authentication_token: 'p' }],
    [{ pending_authentication_token: 'p', organizations: {} }],
    [{ pending_authentication_token: 'p', organizations: [] }],
    [{ pending_authentication_token: 'p', organizations: ['org_1'] }],
    [{ pending_authentication_token: 7, organizations: [one] }],
    [{ organizations: [one] }],
  ])('is nothing in %j', (details) => expect(selectionOf(details)).toBeUndefined());
});

describe('the selected organization', () => {
  const token = { pendingAuthenticationToken: 'p' };

  it('is one of the offered ones', () => {
    const selection = { ...token, organizations: [one, two] };
    expect(chosenOrganization(selection, 'org_2')).toBe('org_2');
    expect(chosenOrganization(selection, 'org_3')).toBeUndefined();
    expect(chosenOrganization(selection, '')).toBeUndefined();
    expect(chosenOrganization(selection, null)).toBeUndefined();
  });

  it.each([
    ['org_1', 'org_1'],
    ['a'.repeat(100), 'a'.repeat(100)],
    ['a'.repeat(101), undefined],
    ['', undefined],
    ['org 1', undefined],
    ['org_1/..', undefined],
    ['/org_1', undefined],
  ])('is any well-formed id if the list did not fit: %j', (wanted, chosen) => {
    expect(chosenOrganization(token, wanted)).toBe(chosen);
  });
});
