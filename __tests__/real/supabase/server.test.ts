import { describeWith } from '../support/describe-with.ts';

describeWith(['GOTRUE_URL'], 'a GoTrue', (url) => {
  it('is what GOTRUE_URL names', async () => {
    const answer = await fetch(`${url}/health`);
    expect(await answer.json()).toMatchObject({ name: 'GoTrue' });
  });
});
