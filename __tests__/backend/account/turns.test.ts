import { createTurns } from '../../../lib/backend/account/identities.ts';

it('work of one user runs one by one, and does not wait for its turn without an end', async () => {
  const inTurn = createTurns(50);
  const ran: string[] = [];
  const work = (name: string) => async () => void ran.push(name);
  let finish: () => void = () => undefined;
  const slow = inTurn('ada', () => new Promise<void>((resolve) => (finish = resolve)));
  const late = inTurn('ada', work('late'));
  await inTurn('bob', work('bob'));
  await expect(late).rejects.toMatchObject({ code: 'provider_unavailable', status: 503 });

  const next = inTurn('ada', work('next'));
  expect(ran).toEqual(['bob']);
  finish();
  await Promise.all([slow, next]);
  expect(ran).toEqual(['bob', 'next']);
});
