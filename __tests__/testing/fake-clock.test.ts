import { decodeJwt } from 'jose';
import express from 'express';
import request from 'supertest';
import { b2bAuth } from '../../lib/b2b/index.ts';
import { backendAuth } from '../../lib/backend/index.ts';
import { requireSession } from '../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';

/** The kits under a clock that a test starts at the epoch, as fake timers may do. */
const clock = { at: 0 };
const now = (): number => clock.at;
beforeEach(() => {
  clock.at = 0;
});

const b2b = createB2bTestKit({ now });
const backend = createBackendTestKit({ now });
const kits = [
  { name: 'b2b', kit: b2b, adapter: () => b2bAuth({ ...b2b.options, protectedRoutes: '/page' }) },
  { name: 'backend', kit: backend, adapter: () => backendAuth({ ...backend.options, protectedRoutes: '/page' }) },
] as const;

function appWith(adapter: express.Router): express.Express {
  const app = express();
  app.use(adapter);
  app.get('/page', (_req, res) => void res.send('page'));
  return app;
}

/** Every number of a token. */
function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}

describe.each(kits)('the $name kit at the epoch', ({ kit, adapter }) => {
  it.each([{}, { expired: true }, { signedInAgo: 0 }])('makes no negative time for %j', async (session) => {
    const [, token = ''] = (await kit.bearer(session)).split(' ');
    const times = numbersIn(decodeJwt(token));
    expect(times.length).toBeGreaterThan(1);
    expect(times.filter((time) => time < 0)).toEqual([]);
  });

  it('refuses a sign-in before the epoch, and makes it once the clock is far enough', async () => {
    await expect(kit.cookie({ signedInAgo: 600 })).rejects.toThrow(
      /signedInAgo: 600 is before 1970 .* start the clock later/,
    );
    clock.at = 600_000;
    await expect(kit.cookie({ signedInAgo: 600 })).resolves.toMatch(/=/);
  });

  it('signs in, renews an expired session, and knows when it ends', async () => {
    const agent = await kit.signIn(request.agent(appWith(adapter())));
    await agent.get('/page').expect(200);
    const expired = await kit.signIn(request.agent(appWith(adapter())), { expired: true });
    kit.simulate('revoking');
    await expired.get('/page').expect(307);
    kit.simulate('working');
    clock.at = 90 * 60_000;
    await agent.get('/page').expect(200);
  });
});

it('an expired bearer token is refused at the epoch', async () => {
  const app = express();
  app.use(b2bAuth(b2b.options));
  app.get('/api', requireSession({ credentials: ['bearer'] }), (_req, res) => void res.send('in'));
  await request(app)
    .get('/api')
    .set('Authorization', await b2b.bearer())
    .expect(200);
  await request(app)
    .get('/api')
    .set('Authorization', await b2b.bearer({ expired: true }))
    .expect(401);
});
