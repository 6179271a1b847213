import { randomBytes } from 'node:crypto';
import { startWorkos } from '../../support/workos.ts';
import type { WorkosStandIn } from '../../../stand-ins/workos/index.ts';
import { startAuthkitIssuer } from '../../support/authkit-issuer.ts';
import { examine, lines, workosEnv } from '../../support/doctor.ts';
import { sendJson } from '../../support/hosts.ts';
import { serve } from '../../support/servers.ts';

let workos: WorkosStandIn;
beforeAll(async () => {
  workos = await startWorkos({ clientId: 'client_test', apiKey: `sk_test_${randomBytes(12).toString('hex')}` });
});
afterAll(() => workos.close());

const examineWith = (domain: string, options: object = {}) =>
  examine({ ...workosEnv(workos), B2B_AUTHKIT_DOMAIN: domain }, options);

/** A server that answers each path so. */
const answering = (answers: Readonly<Record<string, (origin: string) => object>>) =>
  serve((req, res) => {
    const answer = answers[req.url ?? ''];
    if (answer === undefined) sendJson(res, {}, 404);
    else sendJson(res, answer(`http://${req.headers.host}`));
  });

it('says nothing without the variable', async () => {
  const { findings } = await examine(workosEnv(workos));
  expect(findings.filter(({ id }) => /authkit|resource/.test(id))).toEqual([]);
});

it('finds no problem at an AuthKit domain, and says what to register', async () => {
  const authkit = await startAuthkitIssuer();
  const report = await examineWith(authkit.issuer, { appUrl: 'https://app.example.com' });
  expect(report.ok).toBe(true);
  expect(lines(report, 'b2b.authkit')).toEqual([expect.stringMatching(/^ok: .* issues tokens to OAuth clients$/)]);
  expect(lines(report, 'b2b.authkit_clients')).toEqual([]);
  const [note] = report.findings.filter(({ id }) => id === 'b2b.resource_indicator');
  expect(note).toMatchObject({ level: 'note', fix: expect.stringContaining('https://app.example.com/mcp') });
  await authkit.close();
});

it('reports a domain that is none, that is out of reach, or that is another one’s', async () => {
  const notOne = await answering({});
  const other = await answering({
    '/.well-known/oauth-authorization-server': () => ({ issuer: 'https://other.test' }),
  });
  for (const server of [notOne, other]) {
    const report = await examineWith(server.origin);
    expect([report.ok, lines(report, 'b2b.authkit')]).toEqual([
      false,
      [expect.stringMatching(/^problem: .* does not say that it is the authorization server/)],
    ]);
    await server.close();
  }
  expect(lines(await examineWith(notOne.origin), 'b2b.authkit')).toEqual([
    expect.stringMatching(/^problem: .* cannot be reached: nothing listens there/),
  ]);
  expect(lines(await examineWith('http://example.authkit.app'), 'b2b.options')).toEqual([
    expect.stringContaining('B2B_AUTHKIT_DOMAIN'),
  ]);
});

it('reports that agents cannot introduce themselves, and that keys are missing', async () => {
  const server = await answering({
    '/.well-known/oauth-authorization-server': (issuer) => ({ issuer }),
    '/oauth2/jwks': () => ({ keys: [] }),
  });
  const report = await examineWith(server.origin);
  expect(lines(report, 'b2b.authkit')).toEqual([expect.stringMatching(/^problem: .* publishes no RS256 key/)]);
  expect(lines(report, 'b2b.authkit_clients')).toEqual([expect.stringMatching(/^warning: Agents .* cannot register/)]);
  await server.close();
  const modern = await answering({
    '/.well-known/oauth-authorization-server': (issuer) => ({ issuer, client_id_metadata_document_supported: true }),
  });
  expect(lines(await examineWith(modern.origin), 'b2b.authkit_clients')).toEqual([]);
  await modern.close();
});
