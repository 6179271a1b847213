// Stands in for '@jest/globals'. The runner sets these before it loads the first suite.
export const { jest, expect, describe, it, test, beforeAll, beforeEach, afterAll, afterEach } = globalThis;
