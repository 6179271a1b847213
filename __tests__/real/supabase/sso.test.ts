import { randomUUID } from 'node:crypto';
import { postForm } from '../../support/backend-app.ts';
import { useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { createSamlProvider, samlSettings } from '../support/saml-provider.ts';

describeOwnGoTrue('single sign-on by the domain of an address', () => {
  const gotrue = { keys: [createSigningKey('only')], settings: samlSettings() };
  const real = useRealApp({ gotrue, options: { sso: true } });

  async function company() {
    const provider = createSamlProvider();
    const domain = `${randomUUID()}.example`;
    const { id } = await real.project.admin('/admin/sso/providers', 'POST', {
      type: 'saml',
      metadata_xml: provider.metadata,
      domains: [domain],
    });
    return { provider, domain, providerId: String(id), email: `ada@${domain}` };
  }

  it.each([
    ['the address', ({ email }: { email: string }) => ({ email })],
    ['the domain', ({ domain }: { domain: string }) => ({ domain })],
    // GoTrue: 404 sso_provider_not_found for a domain in capitals
    ['an address in capitals', ({ email }: { email: string }) => ({ email: email.toUpperCase() })],
  ])('signs in by %s', async (_name, fields) => {
    const { provider, domain, email } = await company();
    const visitor = real.app.visitor();
    const started = await visitor.postJson('/auth/sso', { ...fields({ email, domain }), returnTo: '/account' });
    expect([started.status, started.json.redirectTo.startsWith(`${provider.signInUrl}?`)]).toEqual([200, true]);
    const done = await visitor.get(await provider.signIn(started.json.redirectTo, email));
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(email);
    expect([...visitor.cookies.keys()].filter((name) => name.includes('verifier'))).toEqual([]);
  });

  it('starts from the form, without a script', async () => {
    const { provider, email } = await company();
    const started = await postForm(real.app.visitor(), '/auth/sso', { email });
    expect([started.status, started.location.startsWith(provider.signInUrl)]).toEqual([303, true]);
  });

  it('reports that a domain without a company is unavailable, and keeps the address', async () => {
    // GoTrue: 404 {"code":"sso_provider_not_found","message":"No SSO provider assigned for this domain"}
    const email = `ada@${randomUUID()}.example`;
    const answer = await real.app.visitor().postJson('/auth/sso', { email });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'sso_unavailable']);
    const page = await postForm(real.app.visitor(), '/auth/sso', { email });
    expect([page.status, page.text.includes(`value="${email}"`)]).toEqual([422, true]);
  });

  it('reports the same for a company whose sign-in is disabled', async () => {
    const { providerId, email } = await company();
    await real.project.admin(`/admin/sso/providers/${providerId}`, 'PUT', { disabled: true });
    // GoTrue: 404 {"code":"sso_provider_disabled","message":"SSO Provider is currently disabled"}
    const answer = await real.app.visitor().postJson('/auth/sso', { email });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'sso_unavailable']);
  });

  it('refuses its users a password, and keeps their session', async () => {
    const { provider, email } = await company();
    const visitor = real.app.visitor();
    const { json } = await visitor.postJson('/auth/sso', { email });
    await visitor.get(await provider.signIn(json.redirectTo, email));
    // GoTrue: 422 {"code":"user_sso_managed",…}
    const answer = await visitor.postJson('/auth/password', { password: 'an entirely new password' });
    expect([answer.status >= 400, answer.status < 500]).toEqual([true, true]);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describeOwnGoTrue('single sign-on in a project without it', () => {
  const gotrue = { keys: [createSigningKey('only')], settings: { GOTRUE_SAML_ENABLED: 'false' } };
  const real = useRealApp({ gotrue, options: { sso: true } });

  it('is unavailable', async () => {
    // GoTrue: 404 {"code":"saml_provider_disabled","message":"SAML 2.0 is disabled"}
    const answer = await real.app.visitor().postJson('/auth/sso', { email: 'ada@example.com' });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'sso_unavailable']);
  });
});
