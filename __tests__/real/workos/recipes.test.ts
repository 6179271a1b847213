import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getSession, requireSession } from '../../../lib/b2b/index.ts';
import { sendJson } from '../../support/hosts.ts';
import { codeBlocks } from '../../support/markdown.ts';
import { addUser, apiKey, clientId, describeEmulator, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';

const directory = join(process.cwd(), 'reports', 'real-recipes');

interface Tool {
  readonly signIn: (clientId: string, say: (text: string) => void) => Promise<{ readonly access_token: string }>;
}

describeEmulator('the recipes for WorkOS', (url) => {
  let app: RealB2b;
  beforeAll(async () => {
    app = await startRealB2b(url, undefined, undefined, ({ host }) => {
      host.get('/api/whoami', requireSession({ credentials: ['bearer'] }), (req, res, next) => {
        getSession(req).then((session) => sendJson(res, session), next);
      });
    });
  });
  afterAll(async () => {
    await app.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** The tool of docs/recipes/cli.md. It calls the emulator, which asks for a key and confirms each code by itself, and waits no seconds. */
  async function loadTool(): Promise<Tool> {
    const path = 'docs/recipes/cli.md';
    const [tool] = codeBlocks({ path, text: readFileSync(path, 'utf8') }).filter(({ language }) => language === 'ts');
    const code = (tool?.code ?? '')
      .replace('https://api.workos.com', url)
      .replace("method: 'POST',", `method: 'POST', headers: { authorization: 'Bearer ${apiKey}' },`)
      .replace('seconds * 1000', 'seconds');
    mkdirSync(directory, { recursive: true });
    const file = join(directory, 'cli.ts');
    writeFileSync(file, code);
    return (await import(pathToFileURL(file).href)) as Tool;
  }

  it('cli: the tool signs in by a code, and the API knows its user', async () => {
    await addUser(app);
    const { signIn } = await loadTool();
    const said: string[] = [];
    const { access_token: token } = await signIn(clientId, (text) => void said.push(text));
    expect(said).toEqual([expect.stringMatching(/^Open http\S+ and confirm \S+\.$/)]);
    const headers = { authorization: `Bearer ${token}` };
    const answer = await app.visitor().get('/api/whoami', { headers });
    expect([answer.status, answer.json.credential, answer.json.user.id]).toEqual([
      200,
      'bearer',
      expect.stringMatching(/^user_/),
    ]);
  });

  it('devices: WorkOS lists the sessions of the user alone, with their ids as here', async () => {
    const [user, other] = [await addUser(app), await addUser(app)];
    const visitors = [await app.signedIn(user), await app.signedIn(user), await app.signedIn(other)];
    const ids: string[] = [];
    for (const visitor of visitors) ids.push((await visitor.getJson('/auth/session')).json.sessionId);
    const listed = await app.sdk.userManagement.listSessions(user.id);
    expect(listed.data.map(({ id }) => id).sort()).toEqual(ids.slice(0, 2).sort());
    expect(listed.data.map(({ status }) => status)).toEqual(['active', 'active']);
    await app.sdk.userManagement.revokeSession({ sessionId: ids[0] ?? '' });
    const active = (await app.sdk.userManagement.listSessions(user.id)).data.filter(
      ({ status }) => status === 'active',
    );
    expect(active.map(({ id }) => id)).toEqual([ids[1]]);
  });
});
