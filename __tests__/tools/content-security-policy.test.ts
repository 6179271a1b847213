import { allowsFormRedirect } from '../../lib/tools/content-security-policy.ts';

const own = 'https://app.example.com';
const logout = 'https://api.workos.com/user_management/sessions/logout?session_id=1';
/** The default of helmet 8. */
const helmet =
  "default-src 'self';base-uri 'self';font-src 'self' https: data:;form-action 'self';frame-ancestors 'self';script-src 'self'";

it.each([
  [[]],
  [['']],
  [["default-src 'none'"]],
  [["script-src 'self'; object-src 'none'"]],
  [['form-action *']],
  [['form-action https:']],
  [['form-action http:']],
  [["form-action 'self' https://api.workos.com"]],
  [["Form-Action 'self'\thttps://API.workos.com"]],
  [['form-action api.workos.com']],
  [['form-action api.workos.com:443']],
  [['form-action https://api.workos.com:*']],
  [['form-action https://api.workos.com/other/path']],
  [['form-action https://*.workos.com']],
  [['form-action https://*']],
  [['form-action http://api.workos.com']],
  [["form-action https://api.workos.com; form-action 'none'"]],
])('lets a form be redirected to the provider: %j', (policies) => {
  expect(allowsFormRedirect(policies, logout, own)).toBe(true);
});

it.each([
  [[helmet]],
  [["form-action 'self'"]],
  [["form-action 'none'"]],
  [['form-action']],
  [['form-action https://workos.com']],
  [['form-action https://*.api.workos.com']],
  [['form-action https://api.workos.com:8443']],
  [['form-action https://api.workos.com.evil.example']],
  [['form-action ws:']],
  [['form-action xhttps:']],
  [['form-action ftp://api.workos.com']],
  [['form-action ((((']],
  [["script-src 'self'", "form-action 'self'"]],
  [["form-action https://api.workos.com, form-action 'self'"]],
])('blocks a form redirect to the provider: %j', (policies) => {
  expect(allowsFormRedirect(policies, logout, own)).toBe(false);
});

it('compares the scheme and the port of any destination', () => {
  expect(allowsFormRedirect(['form-action *'], 'http://api.workos.com/', own)).toBe(true);
  expect(allowsFormRedirect(['form-action *'], 'cursor://callback', own)).toBe(false);
  expect(allowsFormRedirect(['form-action http:'], 'cursor://callback', own)).toBe(false);
  expect(allowsFormRedirect(['form-action http://api.workos.com:80'], 'http://api.workos.com/', own)).toBe(true);
  expect(allowsFormRedirect(['form-action api.workos.com:443'], 'https://api.workos.com:8443/', own)).toBe(false);
});

it('includes the own origin, with its port', () => {
  expect(allowsFormRedirect([helmet], `${own}/start`, own)).toBe(true);
  expect(allowsFormRedirect([helmet], `${own}:8443/start`, own)).toBe(false);
  expect(allowsFormRedirect([helmet], 'http://app.example.com/', own)).toBe(false);
  expect(allowsFormRedirect(['form-action api.workos.com'], logout, 'http://app.example.com')).toBe(true);
  expect(allowsFormRedirect(['form-action api.workos.com'], 'http://api.workos.com/', own)).toBe(false);
  expect(allowsFormRedirect(['form-action 127.0.0.1:4100'], 'http://127.0.0.1:4100/x', 'http://127.0.0.1:3000')).toBe(
    true,
  );
});

it('blocks an invalid URL', () => {
  expect(allowsFormRedirect([], 'not a URL', own)).toBe(false);
});
