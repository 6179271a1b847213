/*
 * Each step is one script, so that nothing can happen between a look and a decision. All keys of one refresh share a hash tag and
 * with it a cluster's slot.
 */

/**
 * The answer if there is one, else what became of the attempt that the caller waited for, else the lock.
 * KEYS: answer, lock, failure of the awaited attempt. ARGV: attempt, lock's lifetime in milliseconds.
 */
export const claimScript = `
local answer = redis.call('GET', KEYS[1])
if answer then return {'answered', answer} end
local failure = redis.call('GET', KEYS[3])
if failure then return {'failed', failure} end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {'claimed', ARGV[1]} end
return {'held', redis.call('GET', KEYS[2])}`;

/** A holder that is alive keeps its lock. KEYS: lock. ARGV: attempt, lock's lifetime in milliseconds. */
export const extendScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/**
 * Stores the answer and releases the lock if it is still the caller's own. Of several answers the first renewed one stands: a
 * holder that was taken for dead and comes late must not undo what others already carry, and `ended` after `renewed` only says
 * that the token was spent. Returns the answer that stands if it is not the caller's.
 * KEYS: answer, lock. ARGV: attempt, answer, the answer's lifetime in milliseconds.
 */
export const settleScript = `
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
local standing = redis.call('GET', KEYS[1])
if standing and (string.sub(standing, 1, 1) == 'r' or string.sub(ARGV[2], 1, 1) == 'e') then return standing end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return false`;

/**
 * Releases the lock and leaves word for those who waited for this very attempt; later callers try anew.
 * KEYS: lock, failure of this attempt. ARGV: attempt, report, its lifetime in milliseconds.
 */
export const failScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1`;

/**
 * Keeps a delivered answer only for requests that were sent before. KEYS: answer. ARGV: the rest of its life in milliseconds.
 */
export const deliverScript = `
if redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[1]) then return 0 end
if redis.call('GETRANGE', KEYS[1], 0, 0) ~= 'r' then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`;

/** KEYS: answer. */
export const forgetScript = `return redis.call('DEL', KEYS[1])`;

/** Never shortens the life of a revocation that stands. KEYS: revocation. ARGV: its lifetime in milliseconds. */
export const revokeScript = `
if redis.call('PTTL', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return 1`;

/**
 * Of each time the later one stands, and the longer lifetime. KEYS: cutoffs. ARGV: ended until, stale until, lifetime in milliseconds.
 */
export const cutoffsScript = `
local ended, stale, ttl = ARGV[1], ARGV[2], ARGV[3]
local standing = redis.call('GET', KEYS[1])
if standing then
  local e, s = string.match(standing, '^(-?%d+) (-?%d+)$')
  if e and tonumber(e) > tonumber(ended) then ended = e end
  if s and tonumber(s) > tonumber(stale) then stale = s end
  local rest = redis.call('PTTL', KEYS[1])
  if rest > tonumber(ttl) then ttl = string.format('%.0f', rest) end
end
redis.call('SET', KEYS[1], ended .. ' ' .. stale, 'PX', ttl)
return 1`;
