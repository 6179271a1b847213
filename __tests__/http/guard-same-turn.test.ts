import { currentSession, requireSession } from '../../lib/index.ts';
import { isExplaining } from '../../lib/session/events.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import { createApplication, publicOrigin, variantOptions } from '../support/application.ts';
import { buildB2b } from '../support/build-adapter.ts';
import type { B2bSuiteOptions } from '../support/build-adapter.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendText } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import { variant } from '../support/variant.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

const kit = createB2bTestKit();
const closing = closeAfterEach();

describe('a guard', () => {
  /** Whether the next handler has run by the time that each guard returns. */
  async function startWith(...guards: readonly Handler[]): Promise<{ visitor: Visitor; inTurn: boolean[] }> {
    const inTurn: boolean[] = [];
    const { host, listener } = createApplication();
    host.use(buildB2b(variantOptions<B2bSuiteOptions>(kit.options)) as Handler);
    for (const [index, guard] of guards.entries()) {
      host.use(`/guarded/${index}`, (req, res, next) => {
        let hasPassed = false;
        guard(req, res, (error) => {
          hasPassed = true;
          next(error);
        });
        inTurn.push(hasPassed);
      });
    }
    host.use((req, res) => sendText(res, currentSession(req).user.id));
    const server = await closing(serve(listener));
    return { visitor: createVisitor(publicOrigin(server.origin)), inTurn };
  }

  it('without a further requirement lets a cached session pass in the same turn', async () => {
    const { visitor, inTurn } = await startWith(
      requireSession as Handler,
      requireSession() as Handler,
      requireSession({ adapter: 'b2b', respond: 'json', whenCoordinatorDown: 'serve' }) as Handler,
      requireSession({ check: () => true }) as Handler,
    );
    const cookie = await kit.cookie({ user: { id: 'user_1' } });
    const ask = async (path: string): Promise<string> => (await visitor.get(path, { headers: { cookie } })).text;
    expect(await ask('/guarded/0')).toBe('user_1');
    // Only now the session is in the cache.
    inTurn.length = 0;
    for (const index of [0, 1, 2, 3]) expect(await ask(`/guarded/${index}`)).toBe('user_1');
    // With `DEBUG`, which stays on for a process, it explains itself first.
    const isQuick = variant.isCached && !isExplaining;
    expect(inTurn).toEqual([isQuick, isQuick, isQuick, false]);
  });
});
