import { readB2bOptions } from '../../lib/b2b/options.ts';
import { readBackendOptions } from '../../lib/backend/options.ts';

const password = 'p'.repeat(32);
const [theirs, ours] = [`${password} of WorkOS`, `${password} of ours`];
const key = (name: string): string => `sb_publishable_${name}`;

describe("the providers' own variables", () => {
  const workos = { WORKOS_CLIENT_ID: 'client_theirs', WORKOS_API_KEY: 'sk_theirs', WORKOS_COOKIE_PASSWORD: theirs };

  it('are enough for the WorkOS adapter', () => {
    expect(readB2bOptions({}, workos)).toMatchObject({
      clientId: 'client_theirs',
      apiKey: 'sk_theirs',
      passwords: [theirs],
    });
  });

  it('are read after its other names', () => {
    const environment = { ...workos, B2B_CLIENT_ID: 'client_ours', LEGACY_B2B_COOKIE_PASSWORD: ours };
    expect(readB2bOptions({}, environment)).toMatchObject({ clientId: 'client_ours', passwords: [ours] });
  });

  it.each([
    ['SUPABASE_URL', 'SUPABASE_PUBLISHABLE_KEY'],
    ['NEXT_PUBLIC_SUPABASE_URL', 'SUPABASE_ANON_KEY'],
    ['SUPABASE_URL', 'NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY'],
    ['SUPABASE_URL', 'NEXT_PUBLIC_SUPABASE_PUBLISHABLE_DEFAULT_KEY'],
    ['SUPABASE_URL', 'NEXT_PUBLIC_SUPABASE_ANON_KEY'],
  ])('are enough for the Supabase adapter, and come last: %s, %s', (url, anonKey) => {
    const environment = { [url]: 'https://theirs.example', [anonKey]: key('theirs') };
    expect(readBackendOptions({}, environment)).toMatchObject({
      url: 'https://theirs.example',
      anonKey: key('theirs'),
    });
    const both = {
      ...environment,
      NEXT_PUBLIC_BAAS_URL: 'https://ours.example',
      NEXT_PUBLIC_BAAS_PUBLISHABLE_DEFAULT_KEY: key('ours'),
    };
    expect(readBackendOptions({}, both)).toMatchObject({ url: 'https://ours.example', anonKey: key('ours') });
  });

  it.each(['SUPABASE_SERVICE_ROLE_KEY', 'SUPABASE_SECRET_KEY', 'SERVICE_ROLE_KEY'])(
    'never are a secret key: %s',
    (name) => {
      const environment = { SUPABASE_URL: 'https://theirs.example', [name]: key('theirs') };
      expect(() => readBackendOptions({}, environment)).toThrow('anonKey (env BAAS_PUBLISHABLE_KEY) is missing');
    },
  );

  it('seal with a password without its quotes, and open what was sealed with them', () => {
    const quoted = { ...workos, WORKOS_COOKIE_PASSWORD: `"${theirs}"` };
    expect(readB2bOptions({}, quoted).passwords).toEqual([theirs, `"${theirs}"`]);
    expect(readB2bOptions({ cookiePassword: ours }, quoted).passwords).toEqual([ours]);
    expect(readB2bOptions({}, workos).passwords).toEqual([theirs]);
  });
});
