import { runAdd } from '../lib/commands/add/cli.ts';
import { withVariables } from '../stand-ins/env-file.ts';
import { newVariables } from '../stand-ins/variables.ts';

const [, ownCli = '', , ...args] = process.argv;

await runAdd(args, ownCli, {
  settings: newVariables,
  withSettings: (text, settings) => withVariables(text, settings).text,
});
