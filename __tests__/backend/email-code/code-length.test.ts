import { readBackendOptions } from '../../../lib/backend/options.ts';
import { startBackendApp } from '../../support/backend-app.ts';

const required = { url: 'https://abcdefghijklmnopqrst.supabase.co', anonKey: 'sb_publishable_abc_def' };

it.each([
  [6, 'digits places of-6', '14'],
  [8, 'digits places of-8', '18'],
  [10, 'digits places of-10', '22'],
  [undefined, 'digits', '24'],
])('the field of an emailed code has the places of the option codeLength: %s', async (codeLength, look, longest) => {
  const app = await startBackendApp({ options: { signInMethods: ['code'], codeLength } });
  try {
    const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'email=ada@example.com' };
    const { text } = await app.visitor().post('/auth/code', form);
    const [field = ''] = /<input id="code"[^>]*>/.exec(text) ?? [];
    expect(field).toContain(` class="${look}" `);
    expect(field).toContain(` maxlength="${longest}" `);
    const { text: styles } = await app.visitor().get('/auth/pages.css');
    if (codeLength !== undefined) expect(styles).toContain(`.of-${codeLength} { --places: ${codeLength}; }`);
  } finally {
    await app.close();
  }
});

it.each([[5], [11], [7.5], ['8']])('the option refuses %p', (codeLength) => {
  expect(() => readBackendOptions({ ...required, codeLength: codeLength as number }, {})).toThrow('codeLength');
});
