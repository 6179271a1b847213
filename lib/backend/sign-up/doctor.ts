import type { OpenProject } from '../../doctor/project.ts';
import type { Add } from '../../doctor/report.ts';
import { isLoopback } from '../../tools/url.ts';

export function checkSignUp({ settings, options }: OpenProject, add: Add): void {
  const isSignupOpen = settings['disable_signup'] !== true;
  const isConfirmationRequired = settings['mailer_autoconfirm'] !== true;
  const values = { isSignupOpen, isConfirmationRequired };
  if (!isSignupOpen) add('note', 'signup', 'New accounts cannot be created: sign-up is switched off', { values });
  else if (isConfirmationRequired) {
    add('note', 'signup', 'New accounts have to confirm their email address', {
      fix: 'Set up your own SMTP server before launch: Supabase’s default one sends only to members of the project’s team.',
      values,
    });
  } else {
    // A local project confirms nothing, so that people can try it.
    const level = isLoopback(new URL(options.url).hostname) ? 'note' : 'warning';
    add(level, 'signup', 'New accounts are signed in at once, without confirming their email address', {
      fix: 'Anyone can sign up with an address of yours, so let no accept or check decide by it (endsWith(\'@example.com\')); or switch on "Confirm email" under Sign In / Providers.',
      values,
    });
  }
}
