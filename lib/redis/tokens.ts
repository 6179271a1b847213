import { sealData, unsealData } from 'iron-session';
import { UnreadableAnswer } from '../tools/coordinator-failure.ts';
import type { SharedCoordinator } from '../session/coordinator.ts';
import { isPresent } from './client.ts';
import type { RedisCommands } from './client.ts';

interface TokenStore {
  readonly commands: RedisCommands;
  readonly seal: AnswerSeal;
  /** The hash of a token. */
  readonly keyOf: (token: string) => string;
  readonly turnMs: number;
}

/** The start of each script: an answer or a turn whose time is over counts as none. */
const standing = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function clock(ms) return string.format('%.0f', ms) end
local found = redis.call('HMGET', KEYS[1], 'settled', 'weight', 'attempt', 'settled-until', 'turn', 'turn-until')
local settled, weight, attempt, ends = found[1], tonumber(found[2] or 0), found[3], tonumber(found[4] or 0)
local turn, turnEnds = found[5], tonumber(found[6] or 0)
if ends <= now then settled, weight, ends = false, 0, 0 end
if turnEnds <= now then turn, turnEnds = false, 0 end`;

/**
 * Takes a token's turn unless an answer stands.
 * KEYS: hash. ARGV: attempt, how long its turn lasts in milliseconds, the attempt that it waited for. Without an attempt it only looks.
 * Returns the answer and how long it stands, or whose turn it is.
 */
const takeScript = `${standing}
if settled and (weight > 0 or attempt == ARGV[3]) then return {settled, clock(ends - now), ''} end
if ARGV[1] == '' or (turn and turn ~= ARGV[1]) then return {'', '', turn or ''} end
local till = now + ARGV[2]
redis.call('HSET', KEYS[1], 'turn', ARGV[1], 'turn-until', clock(till))
redis.call('PEXPIRE', KEYS[1], clock(math.max(till, ends) - now))
return {'', '', ARGV[1]}`;

/**
 * Says what became of a token, and ends a turn.
 * KEYS: hash. ARGV: attempt, answer, weight, lifetime in milliseconds. Without an answer, what stands ends then at the latest, unless it
 * has a greater weight. Returns the answer that stays instead, if one does.
 */
const settleScript = `${standing}
local till = now + ARGV[4]
if turn and turn == ARGV[1] then
  redis.call('HDEL', KEYS[1], 'turn', 'turn-until')
  turnEnds = 0
end
local stays = settled and weight > 0 and weight >= tonumber(ARGV[3])
if ARGV[2] == '' then
  if settled and weight <= tonumber(ARGV[3]) then
    ends = math.min(ends, till)
    redis.call('HSET', KEYS[1], 'settled-until', clock(ends))
  end
elseif not stays then
  ends = till
  redis.call('HSET', KEYS[1], 'settled', ARGV[2], 'weight', ARGV[3], 'attempt', ARGV[1], 'settled-until', clock(ends))
end
redis.call('PEXPIRE', KEYS[1], clock(math.max(ends, turnEnds, now) - now))
if ARGV[2] ~= '' and stays then return {settled} end
return false`;

/** Greater than that of every answer. */
const anyWeight = Number.MAX_SAFE_INTEGER;

/** A sealed answer outlives its time, so that it can be opened as long as Redis has it. */
const sealMs = 30 * 24 * 60 * 60_000;

/** What became of tokens, and turns to exchange them. Each step is one script, so that it is atomic. */
export function createRedisTokens({
  commands,
  seal,
  keyOf,
  turnMs,
}: TokenStore): Pick<SharedCoordinator, 'take' | 'settle'> {
  async function open(token: string, sealed: string): Promise<string> {
    const answer = await seal.open(token, sealed);
    // The password differs, or another program writes these keys: coordination is impossible, and operators must see an error.
    if (answer === undefined) throw new UnreadableAnswer('An answer in Redis cannot be opened with this password');
    return answer;
  }

  return {
    async take(token, turn) {
      const args = [turn?.holder ?? '', String(turnMs), turn?.awaited ?? ''];
      const reply = toTexts(await commands.eval(takeScript, [keyOf(token)], args));
      const [sealed = '', ttlMs, holder] = reply;
      if (holder === undefined) throw new UnreadableAnswer('Redis gave an answer that no script of ours gives');
      if (sealed !== '') return { answer: await open(token, sealed), ttlMs: Number(ttlMs), turnMs };
      return { ...(holder !== '' && { holder }), turnMs };
    },
    async settle(token, { holder = '', answer, weight = anyWeight, ttlMs }) {
      const sealed = answer === undefined ? '' : await seal.seal(token, answer, sealMs);
      const args = [holder, sealed, String(weight), String(Math.ceil(ttlMs))];
      const [stands] = toTexts(await commands.eval(settleScript, [keyOf(token)], args));
      return stands === undefined ? undefined : open(token, stands);
    },
  };
}

/** A script's `false` is null, and a client may give buffers. */
function toTexts(reply: unknown): readonly string[] {
  return Array.isArray(reply) ? reply.map((part) => (isPresent(part) ? String(part) : '')) : [];
}

/** Answers hold tokens, so Redis stores them only encrypted and authenticated. */
interface AnswerSeal {
  /** @param ttlMs the lifetime after which no process opens the seal, even if Redis still has it */
  seal(token: string, answer: string, ttlMs: number): Promise<string>;
  /** `undefined` where it was not sealed for this `token` with one of the passwords. */
  open(token: string, sealed: string): Promise<string | undefined>;
}

/** @param passwords the first one seals, all of them open; each 32 characters or longer */
export function createAnswerSeal(passwords: readonly [string, ...string[]]): AnswerSeal {
  return {
    // With the token's name, so that a writer to Redis cannot give one user another user's tokens.
    seal: (token, answer, ttlMs) =>
      sealData({ token, answer }, { password: passwords[0], ttl: Math.ceil(ttlMs / 1000) }),
    open: async (token, sealed) => {
      for (const password of passwords) {
        const content = await unsealData<{ token?: unknown; answer?: unknown }>(sealed, { password });
        if (content.token === token && typeof content.answer === 'string') return content.answer;
      }
      return undefined;
    },
  };
}
