import type { OpenProject } from '../../doctor/project.ts';
import type { Add } from '../../doctor/report.ts';

export function addMailTemplates(_project: OpenProject, add: Add): void {
  add('note', 'mail_templates', 'This key cannot read the email templates', {
    fix: 'For links that work in any browser, link to /auth/confirm?token_hash={{ .TokenHash }}&type=… there; for codes, add {{ .Token }} to Magic Link.',
  });
}
