import { runEmails } from '../lib/commands/emails/cli.ts';

runEmails(process.argv.slice(3));
