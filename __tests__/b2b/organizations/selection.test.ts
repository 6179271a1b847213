import { chosenOrganization, offerOf, selectionOf } from '../../../lib/b2b/organizations/selection.ts';

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

  it('is whose organizations they are, where WorkOS says so', () => {
    const details = { pending_authentication_token: 'p', organizations: [one] };
    expect(selectionOf({ ...details, user: { id: 'user_1' } })).toMatchObject({ userId: 'user_1' });
    for (const user of [null, 'user_1', { id: 7 }])
      expect(selectionOf({ ...details, user })).not.toHaveProperty('userId');
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
  const flow = { codeVerifier: 'v'.repeat(43) };
  const query = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields);

  it('is one of the offered ones', () => {
    const selection = { ...token, organizations: [one, two] };
    expect(chosenOrganization(selection, flow, query({ organization_id: 'org_2' }))).toBe('org_2');
    expect(chosenOrganization(selection, flow, query({ organization_id: 'org_3' }))).toBeUndefined();
    expect(chosenOrganization(selection, flow, query({ organization_id: '' }))).toBeUndefined();
    expect(chosenOrganization(selection, flow, query({}))).toBeUndefined();
  });

  it('has the mark of its flow where the list did not fit the cookie', () => {
    const offer = offerOf(flow, 'org_1');
    const chosen = (fields: Readonly<Record<string, string>>, of = flow) =>
      chosenOrganization(token, of, query(fields));
    expect(offer).toMatch(/^[\w-]{22}$/);
    expect(chosen({ organization_id: 'org_1', offer })).toBe('org_1');
    expect(chosen({ organization_id: 'org_2', offer })).toBeUndefined();
    expect(chosen({ organization_id: 'org_1', offer }, { codeVerifier: 'w'.repeat(43) })).toBeUndefined();
    for (const other of ['', offer.slice(1), `${offer}A`, `A${offer.slice(1)}`.replace(offer, 'B')])
      expect(chosen({ organization_id: 'org_1', offer: other })).toBeUndefined();
    expect(chosen({ organization_id: 'org_1' })).toBeUndefined();
    expect(chosen({ offer })).toBeUndefined();
  });
});
