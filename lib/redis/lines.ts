import { sealData, unsealData } from 'iron-session';
import { UnreadableAnswer } from '../tools/coordinator-failure.ts';
import type { SharedCoordinator, SharedLine } from '../session/coordinator.ts';
import { openMs } from '../session/token-line.ts';
import { isPresent } from './client.ts';
import type { RedisCommands } from './client.ts';

interface LineStore {
  readonly commands: RedisCommands;
  readonly seal: AnswerSeal;
  /** The hash of a session. */
  readonly keyOf: (line: string) => string;
  readonly turnMs: number;
}

/**
 * The start of each script. An expired line counts as none; its record may keep the hash. Turns are text: `token holder until`, each
 * between line breaks.
 */
const standing = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local clock = string.format('%.0f', now)
local line = redis.call('HMGET', KEYS[1], 'version', 'line', 'answer', 'known', 'line-until', 'turns')
if line[5] and tonumber(line[5]) <= now then
  redis.call('HDEL', KEYS[1], 'version', 'line', 'answer', 'known', 'line-until')
  line = {'', '', '', '', false, line[6]}
end
for at = 1, 4 do line[at] = line[at] or '' end
local turns = {}
for token, holder, till in string.gmatch(line[6] or '', '(%S+) (%S+) (%d+)\\n') do
  if tonumber(till) > now then turns[token] = {holder, till} end
end
local function keep(till)
  local text = ''
  for token, turn in pairs(turns) do
    text = text .. token .. ' ' .. turn[1] .. ' ' .. turn[2] .. '\\n'
    till = math.max(till, tonumber(turn[2]))
  end
  if text == '' then redis.call('HDEL', KEYS[1], 'turns') else redis.call('HSET', KEYS[1], 'turns', text) end
  till = math.max(till, tonumber(redis.call('HGET', KEYS[1], 'record-until') or 0), tonumber(redis.call('HGET', KEYS[1], 'line-until') or 0))
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', till - now))
end`;

/**
 * Takes a token's turn unless one of the given tokens is known.
 * KEYS: hash. ARGV: token, holder, the turn's length in milliseconds, then known tokens. Returns the holder, clock, version, line and answer.
 */
const takeScript = `${standing}
for at = 4, #ARGV do
  if string.find(line[4], ' ' .. ARGV[at] .. ' ', 1, true) then return {'', clock, line[1], line[2], line[3]} end
end
local turn = turns[ARGV[1]]
if turn and turn[1] ~= ARGV[2] then return {turn[1], clock} end
turns[ARGV[1]] = {ARGV[2], string.format('%.0f', now + ARGV[3])}
keep(now)
return {ARGV[2], clock, line[1], line[2], line[3]}`;

/**
 * Changes the line where it has the version, and ends the holder's turn. The hash lives as long as its line, its record or a turn.
 * KEYS: hash. ARGV: `any` for any version, version, next version, line, known tokens, answer, lifetime in milliseconds, token, holder.
 * Returns the clock and the standing version, line and answer if it has another version.
 */
const settleScript = `${standing}
if ARGV[1] ~= 'any' and line[1] ~= ARGV[2] then return {clock, line[1], line[2], line[3]} end
if ARGV[5] == '' then redis.call('HDEL', KEYS[1], 'version', 'line', 'answer', 'known', 'line-until')
else
  redis.call('HSET', KEYS[1], 'version', ARGV[3], 'line', ARGV[4], 'known', ARGV[5], 'line-until', string.format('%.0f', now + ARGV[7]))
  if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], 'answer', ARGV[6]) end
end
if turns[ARGV[8]] and turns[ARGV[8]][1] == ARGV[9] then turns[ARGV[8]] = nil end
keep(now)
return false`;

/** A sealed answer outlives its line, so that it can be opened as long as Redis has it. */
const sealMs = 2 * openMs;

/** The line of a session: its turns and its newest tokens. Each step is one script, so that it is atomic. */
export function createRedisLines({
  commands,
  seal,
  keyOf,
  turnMs,
}: LineStore): Pick<SharedCoordinator, 'take' | 'settle'> {
  async function open(name: string, [clock, version, line, sealed]: readonly string[]): Promise<SharedLine> {
    const now = Number(clock);
    if (clock === undefined || Number.isNaN(now))
      throw new UnreadableAnswer('Redis gave an answer that no script of ours gives');
    const found = { version: version ?? '', line: line ?? '', now };
    if (sealed === undefined || sealed === '') return found;
    const answer = await seal.open(name, sealed);
    return answer === undefined ? found : { ...found, answer };
  }

  return {
    async take(name, { token, holder }, unless) {
      const args = [token, holder, String(turnMs), ...unless];
      const [current, ...line] = toTexts(await commands.eval(takeScript, [keyOf(name)], args));
      const shared = await open(name, line);
      const isKnown = current === '';
      // The password differs, or another program writes these keys: coordination is impossible, and operators must see an error.
      if (isKnown && line[3] !== '' && shared.answer === undefined)
        throw new UnreadableAnswer('An answer in Redis cannot be opened with this password');
      return { ...shared, holder: isKnown ? undefined : current, turnMs };
    },
    async settle(name, { from, version, line, known, answer, ttlMs, token = '', holder = '' }) {
      const args = [
        from === undefined ? 'any' : '',
        from ?? '',
        version,
        line,
        known.length === 0 ? '' : ` ${known.join(' ')} `,
        answer === undefined ? '' : await seal.seal(name, answer, sealMs),
        String(Math.ceil(ttlMs)),
        token,
        holder,
      ];
      const reply = await commands.eval(settleScript, [keyOf(name)], args);
      return Array.isArray(reply) ? open(name, toTexts(reply)) : undefined;
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
  seal(line: string, answer: string, ttlMs: number): Promise<string>;
  /** `undefined` where it was not sealed for this `line` with one of the passwords. */
  open(line: string, sealed: string): Promise<string | undefined>;
}

/** @param passwords the first one seals, all of them open; each 32 characters or longer */
export function createAnswerSeal(passwords: readonly [string, ...string[]]): AnswerSeal {
  return {
    // With the line, so that a writer to Redis cannot give one user another user's tokens.
    seal: (line, answer, ttlMs) => sealData({ line, answer }, { password: passwords[0], ttl: Math.ceil(ttlMs / 1000) }),
    open: async (line, sealed) => {
      for (const password of passwords) {
        const content = await unsealData<{ line?: unknown; answer?: unknown }>(sealed, { password });
        if (content.line === line && typeof content.answer === 'string') return content.answer;
      }
      return undefined;
    },
  };
}
