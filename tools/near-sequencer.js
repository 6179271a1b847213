import Sequencer from '@jest/test-sequencer';

const order = (process.env['NEAR_ORDER'] ?? '').split('\n');

/** The nearest suite first; jest would begin with the longest. */
export default class extends Sequencer {
  sort(tests) {
    if (order.length < 2) return super.sort(tests);
    const place = ({ path }) => order.findIndex((suite) => path.endsWith(`/${suite}`));
    return [...tests].sort((one, other) => place(one) - place(other));
  }
}
