import { deepFreeze } from '../../lib/core/json.ts';

it('lets nothing of a session be changed, however deep it lies', () => {
  const session = {
    user: { id: 'user_1', name: null },
    roles: [{ slug: 'admin' }],
    isNew: false,
    permissions: undefined,
  };
  deepFreeze(session);
  expect(() => Object.assign(session, { user: {} })).toThrow(TypeError);
  expect(() => Object.assign(session.user, { id: 'user_2' })).toThrow(TypeError);
  expect(() => session.roles.push({ slug: 'owner' })).toThrow(TypeError);
  expect(() => Object.assign(session.roles[0]!, { slug: 'owner' })).toThrow(TypeError);
});

it('ends where it has been, so that a circle is no trap', () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  deepFreeze(circle);
  expect(Object.isFrozen(circle)).toBe(true);
});
