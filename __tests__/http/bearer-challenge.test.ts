import { requireSession } from '../../lib/backend/index.ts';
import type { AuthError } from '../../lib/backend/index.ts';
import { startB2bApp } from '../support/b2b-app.ts';
import { startBackendApp } from '../support/backend-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { sendJson, sendText } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { createVisitor } from '../support/visitor.ts';

const closing = closeAfterEach();

const after = (host: Host): void => {
  host.get('/items', requireSession({ credentials: ['bearer'] }), (_req, res) => sendText(res, 'items'));
};
/** Answers with what the error says of the response's head. */
const onError = (error: AuthError, _req: unknown, res: Parameters<typeof sendJson>[0]): void =>
  sendJson(res, error.headers, error.status);

const apps: Readonly<Record<string, () => Promise<{ readonly origin: string; close(): Promise<void> }>>> = {
  b2bAuth: () => startB2bApp({ after, options: { onError } }),
  backendAuth: () => startBackendApp({ after, options: { onError } }),
};

describe.each(Object.entries(apps))('onError of %s', (_name, startApp) => {
  it.each([
    ['no token', {}, 'Bearer'],
    ['a bad token', { authorization: 'Bearer bad' }, 'Bearer error="invalid_token"'],
  ])('finds the challenge of a bearer refusal in error.headers: %s', async (_case, headers, challenge) => {
    const { origin } = await closing(startApp());
    const answer = await createVisitor(origin).get('/items', { headers });
    expect([answer.status, answer.json]).toEqual([401, { 'WWW-Authenticate': challenge }]);
    expect(answer.headers['www-authenticate']).toBe(challenge);
  });
});
