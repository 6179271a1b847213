import { spawnSync } from 'node:child_process';
import { errorTable } from '../../lib/error-table.ts';

it('keeps docs/errors.md in sync with the code', () => {
  const { status, stderr } = spawnSync(process.execPath, ['tools/error-table.ts', '--check'], { encoding: 'utf8' });
  expect({ status, stderr }).toMatchObject({ status: 0 });
});

describe('every error message', () => {
  const rows = Object.entries(errorTable);

  it.each(rows)('%s has at most three short sentences', (_code, { message }) => {
    const sentences = message.split(/(?<=\.) /);
    expect(sentences.length).toBeLessThanOrEqual(3);
    for (const sentence of sentences) {
      expect(sentence).toMatch(/^[A-Z].*\.$/s);
      expect(sentence.split(' ').length).toBeLessThanOrEqual(20);
    }
  });

  it.each(rows)('%s documents when it occurs', (_code, { when }) => {
    expect(when).toMatch(/^[A-Z].{15,}\.$/s);
  });

  it.each(rows)('%s has the status of a failure', (_code, { status }) => {
    expect([400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 502, 503]).toContain(status);
  });

  it('names no product that a visitor does not know', () => {
    for (const [, { message }] of rows) expect(message).not.toMatch(/WorkOS|Supabase|GoTrue|OAuth|JWKS|token/i);
  });
});
