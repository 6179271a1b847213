import type { OpenProject } from '../../doctor/project.ts';
import type { Add } from '../../doctor/report.ts';

export function addMailTemplates(_project: OpenProject, add: Add): void {
  add('note', 'mail_templates', 'This key cannot read the email templates', {
    fix: 'For links that work in any browser, and for codes, write them with: npx express-auth-adapters emails --title "My app"',
  });
}
